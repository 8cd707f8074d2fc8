// Tooltips of the numbers in the text: by mouse, by keyboard, and by touch, where the first tap
// shows and the second follows the link. Without this script a number is a link with a title.
(() => {
  const MARGIN = 8;
  let shown = null;
  let hiding = 0;
  let touched = null; // what a finger has just gone down on, and whether it was shown already

  const tip = Object.assign(document.createElement("div"), { id: "num-tip", hidden: true });
  tip.setAttribute("role", "tooltip");

  function fill(text) {
    const [code, value, ...rest] = text.split("\n");
    tip.replaceChildren();
    const add = (tag, className, words) =>
      tip.append(Object.assign(document.createElement(tag), { className, textContent: words }));
    add("code", "tip-code", code);
    add("code", "tip-value", value);
    for (const line of rest) add("span", "tip-about", line);
  }

  function place(link) {
    // A number may break over two lines: the tooltip belongs to the first of them.
    const box = link.getClientRects()[0];
    const room = document.documentElement.clientWidth - 2 * MARGIN;
    tip.style.maxWidth = `${Math.min(room, 440)}px`;
    tip.style.left = tip.style.top = "0px";
    const left = Math.max(MARGIN, Math.min(box.left, room + MARGIN - tip.offsetWidth));
    const needed = tip.offsetHeight + 2 * MARGIN;
    const below = box.bottom + needed < innerHeight || box.top < needed;
    const top = below ? box.bottom + MARGIN / 2 : box.top - tip.offsetHeight - MARGIN / 2;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${top + scrollY}px`;
  }

  function show(link) {
    clearTimeout(hiding);
    if (shown === link) return;
    hide();
    shown = link;
    fill(link.dataset.tip);
    tip.hidden = false;
    place(link);
    link.setAttribute("aria-describedby", tip.id);
  }

  function hide() {
    clearTimeout(hiding);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  }

  // Time to move the pointer into the tooltip, whose text can be selected.
  function hideSoon() {
    clearTimeout(hiding);
    hiding = setTimeout(hide, 200);
  }

  // The code that a number leads to may stand behind a toggle.
  function unfold() {
    const id = decodeURIComponent(location.hash.slice(1));
    const fold = id && document.getElementById(id)?.querySelector("details.code-fold");
    if (fold) fold.open = true;
  }

  function watch(link) {
    link.dataset.tip = link.title;
    link.removeAttribute("title");
    link.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && show(link));
    link.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideSoon());
    link.addEventListener("focus", () => show(link));
    link.addEventListener("blur", hideSoon);
    link.addEventListener("pointerdown", (event) => {
      touched = event.pointerType === "mouse" ? null : { link, seen: shown === link };
    });
    link.addEventListener("click", (event) => {
      if (touched?.link === link && !touched.seen) {
        event.preventDefault();
        show(link);
      } else {
        hide();
      }
      touched = null;
    });
  }

  function start() {
    document.body.append(tip);
    document.querySelectorAll("a.num").forEach(watch);
    tip.addEventListener("pointerenter", () => clearTimeout(hiding));
    tip.addEventListener("pointerleave", hideSoon);
    addEventListener("keydown", (event) => event.key === "Escape" && hide());
    addEventListener("pointerdown", (event) => {
      if (shown && !tip.contains(event.target) && !event.target.closest?.("a.num")) hide();
    });
    addEventListener("hashchange", unfold);
    unfold();
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
