// Pictures of shares: what lies below the pointer, or is chosen by the arrow keys, is explained; the legend hides systems.
(() => {
  "use strict";
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", true);
  tip.hidden = true;
  // Screen readers announce changes of an element that stays where it is.
  const spoken = document.createElement("div");
  spoken.className = "spoken";
  spoken.setAttribute("role", "status");
  document.body.append(tip, spoken);
  // Marks of several systems can lie above each other: all of them speak.
  const show = (marks) => {
    tip.textContent = marks.map((mark) => mark.dataset.tip).join("\n\n");
    tip.hidden = false;
    const at = marks[0].getBoundingClientRect();
    const left = Math.min(at.right + 8, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const above = at.top - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above > 56 ? above : at.bottom + 6}px`;
  };
  let pointer = null;
  const leave = () => {
    tip.hidden = true;
    document.querySelectorAll(".chosen[data-tip]").forEach((mark) => mark.classList.remove("chosen"));
  };
  const look = () => {
    if (!pointer) {
      const mark = document.querySelector(".chosen[data-tip]");
      if (mark) show([mark]);
      return;
    }
    const marks = document.elementsFromPoint(...pointer).filter((node) => node.dataset && node.dataset.tip);
    if (marks.length) show(marks);
    else tip.hidden = true;
  };
  document.addEventListener("pointerover", ({ clientX, clientY }) => {
    pointer = [clientX, clientY];
    look();
  });
  addEventListener("scroll", look, { passive: true }); // the page moves, the pointer does not
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  document.querySelectorAll("svg:has([data-tip])").forEach((picture) => {
    let chosen = -1;
    picture.setAttribute("tabindex", 0);
    picture.setAttribute("role", "application"); // screen readers pass no arrow keys to images
    picture.addEventListener("keydown", (event) => {
      const marks = [...picture.querySelectorAll(":not(.off) > [data-tip]")];
      if (event.key === "Escape") leave();
      if (!STEPS[event.key] || !marks.length) return;
      event.preventDefault();
      pointer = null;
      leave();
      chosen = (Math.max(chosen, STEPS[event.key] > 0 ? -1 : 0) + STEPS[event.key] + marks.length) % marks.length;
      marks[chosen].classList.add("chosen");
      show([marks[chosen]]);
      spoken.textContent = tip.textContent;
    });
    picture.addEventListener("blur", leave);
  });

  document.querySelectorAll("button[data-hides]").forEach((button) => button.addEventListener("click", () => {
    const visible = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", visible);
    button.closest("figure").querySelectorAll(`[data-system="${button.dataset.hides}"]`).forEach((system) => {
      system.classList.toggle("off", !visible);
    });
  }));
})();
