// Shows the book's widgets in a page without a kernel: reads the states that the notebook saved
// and hands each view's model to its own module. The text beside a view goes once that stands.
(() => {
  const modules = new Map();
  const styles = new Set();

  function load(state) {
    if (!modules.has(state._esm)) {
      const file = new Blob([state._esm], { type: "text/javascript" });
      modules.set(state._esm, import(URL.createObjectURL(file)));
    }
    return modules.get(state._esm);
  }

  // The part of anywidget's model that a page without a kernel can offer.
  function modelOf(state) {
    const listeners = {};
    return {
      get: (key) => state[key],
      set(key, value) {
        state[key] = value;
        for (const listener of listeners["change:" + key] || []) listener();
      },
      save_changes() {},
      send() {},
      on(event, listener) { (listeners[event] ||= []).push(listener); },
      off(event, listener) {
        listeners[event] = (listeners[event] || []).filter((other) => other !== listener);
      },
    };
  }

  function addStyle(text) {
    if (!text || styles.has(text)) return;
    styles.add(text);
    document.head.append(Object.assign(document.createElement("style"), { textContent: text }));
  }

  async function show(view, state) {
    addStyle(state._css);
    const { default: widget } = await load(state);
    const host = Object.assign(document.createElement("div"), { className: "widget" });
    const model = modelOf(state);
    view.before(host);
    try {
      await widget.initialize?.({ model });
      await widget.render({ model, el: host });
    } catch (error) {
      host.remove(); // the twin stays
      throw error;
    }
    view.closest(".cell_output")?.querySelector(".twin")?.classList.add("replaced");
  }

  function parse(kind) {
    const type = `application/vnd.jupyter.widget-${kind}+json`;
    const found = document.querySelectorAll(`script[type="${type}"]`);
    return [...found].map((script) => [script, JSON.parse(script.textContent)]);
  }

  function all() {
    const states = Object.assign({}, ...parse("state").map(([, saved]) => saved.state));
    for (const [script, view] of parse("view")) {
      const state = states[view.model_id]?.state;
      if (state?._esm) show(script, state);
    }
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", all);
  else all();
})();
