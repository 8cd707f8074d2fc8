// Paper shows everything: folded parts are open and the page is light while it prints.
(() => {
  let opened = [];
  let theme = null;

  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((fold) => { fold.open = true; });
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
  });

  addEventListener("afterprint", () => {
    opened.forEach((fold) => { fold.open = false; });
    document.documentElement.dataset.theme = theme;
  });
})();
