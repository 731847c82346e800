// Zoom and read-out for the drawings. Without it they are complete, only still.
"use strict";
(() => {
  const widest = 2e6; // px; browsers lose precision beyond
  const lanes = new Map();

  for (const figure of document.querySelectorAll("figure.lanes")) {
    const scroll = figure.querySelector(".scroll");
    const canvas = figure.querySelector(".canvas");
    const cursor = figure.querySelector(".cursor");
    const readout = figure.querySelector(".readout");
    const axis = figure.querySelector(".axis");
    const start = Number(figure.dataset.start), stop = Number(figure.dataset.stop);
    const span = stop - start;
    const bars = [...figure.querySelectorAll("[data-lane]")].map(e => ({
      element: e, from: Number(e.dataset.from), to: Number(e.dataset.to), lane: e.dataset.lane,
      text: e.querySelector("text"), y: Number(e.querySelector("rect").getAttribute("y")),
      title: e.querySelector("title").textContent, label: e.querySelector("text").textContent,
    }));
    const rows = [...figure.querySelectorAll(".margin text:not(.caption)")].map(t => ({
      y: Number(t.getAttribute("y")), name: t.querySelector("title").textContent,
    }));
    const rowOf = bar => (rows.find(r => r.y > bar.y && r.y < bar.y + 26) || { name: "" }).name;
    const idle = readout.textContent;
    let zoom = 1;
    figure.querySelector(".tools").hidden = false;

    const width = () => canvas.getBoundingClientRect().width;
    const decimals = step => Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));

    // drawAxis gives the visible part as many round ticks as fit.
    function drawAxis() {
      const view = span * scroll.clientWidth / width();
      const left = start + span * scroll.scrollLeft / width();
      const most = Math.max(3, Math.min(10, scroll.clientWidth / 80));
      let step = 10 ** Math.floor(Math.log10(view / most));
      step *= [1, 2, 5, 10].find(f => view / (step * f) <= most);
      const parts = [];
      for (let i = Math.max(0, Math.ceil((left - view) / step)); i * step <= Math.min(stop, left + 2 * view); i++) {
        if (i * step < start) continue;
        const share = (i * step - start) / span;
        const anchor = share < .02 / zoom ? "start" : share > 1 - .02 / zoom ? "end" : "middle";
        const x = (100 * (i * step - start) / span).toFixed(6);
        parts.push(`<line x1="${x}%" x2="${x}%" y1="18" y2="100%"/><text x="${x}%" y="12" text-anchor="${anchor}">${(i * step).toFixed(decimals(step))} s</text>`);
      }
      axis.innerHTML = parts.join("");
      // Labels of bars that begin further left stay in sight.
      for (const b of bars) {
        const hiddenPart = b.from < left && b.to > left ? (left - b.from) / span * width() : 0;
        if (hiddenPart || b.moved) b.text.setAttribute("x", hiddenPart + 5);
        b.moved = hiddenPart > 0;
      }
    }

    // show sets the zoom and keeps the time t at the share of the view.
    function show(factor, t, share) {
      zoom = Math.max(1, Math.min(factor, widest / scroll.clientWidth));
      canvas.style.width = 100 * zoom + "%";
      const now = width();
      for (const b of bars) b.element.classList.toggle("tiny", now * (b.to - b.from) / span < 22);
      scroll.scrollLeft = now * (t - start) / span - share * scroll.clientWidth;
      drawAxis();
    }

    const middle = () => start + span * (scroll.scrollLeft + scroll.clientWidth / 2) / width();
    function guilty() {
      const box = canvas.getBoundingClientRect();
      const at = [...figure.querySelectorAll(".flag line")].map(l => l.getBoundingClientRect().left - box.left).map(x => start + span * x / box.width);
      const low = Math.min(...at), high = Math.max(...at);
      const view = Math.max((high - low) * 1.8, span / 1000);
      show(span / view, (low + high) / 2, .5);
    }
    const actions = {
      in: () => show(zoom * 2, middle(), .5), out: () => show(zoom / 2, middle(), .5),
      all: () => show(1, start, 0), guilty,
    };
    figure.addEventListener("click", e => {
      const button = e.target.closest("[data-zoom]");
      if (button) actions[button.dataset.zoom]();
    });
    scroll.addEventListener("keydown", e => {
      const name = { "+": "in", "=": "in", "-": "out", "0": "all" }[e.key];
      if (!name || e.ctrlKey || e.metaKey) return;
      actions[name]();
      e.preventDefault();
    });
    scroll.addEventListener("wheel", e => {
      if (!e.ctrlKey) return; // plain wheels go on scrolling the page
      e.preventDefault();
      const share = (e.clientX - scroll.getBoundingClientRect().left) / scroll.clientWidth;
      const t = start + span * (scroll.scrollLeft + share * scroll.clientWidth) / width();
      show(zoom * 2 ** (-e.deltaY / 100), t, share);
    }, { passive: false });
    let waiting = false;
    scroll.addEventListener("scroll", () => {
      if (zoom === 1 || waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; drawAxis(); });
    });

    // read says what was so at time t.
    function read(t) {
      const x = 100 * (t - start) / span + "%";
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      const at = { store: [], belief: [], fault: [] };
      for (const b of bars) {
        if (b.from > t || b.to < t) continue;
        at[b.lane].push(b.lane === "store" ? b.label : rowOf(b) + (b.label && b.label !== rowOf(b) ? " · " + b.label : ""));
      }
      const leads = at.belief.length > 1 ? at.belief.join(" and ") + " at once" : at.belief[0] || "nobody";
      readout.textContent = `${t.toFixed(decimals(span * scroll.clientWidth / width() / 1000))} s: store ${at.store.join(", ") || "nobody"} | believes ${leads} | faults ${at.fault.join(", ") || "none"}`;
    }
    canvas.addEventListener("pointermove", e => {
      const box = canvas.getBoundingClientRect();
      read(start + span * (e.clientX - box.left) / box.width);
    });
    canvas.addEventListener("pointerleave", () => {
      cursor.setAttribute("x1", -1);
      cursor.setAttribute("x2", -1);
      readout.textContent = idle;
    });
    axis.classList.add("live");
    show(1, start, 0);
    addEventListener("resize", () => show(zoom, middle(), .5));
    lanes.set(figure.id, { show, read, span, zoom: () => zoom });
  }

  // A time in the list of events leads to that moment of the run.
  document.addEventListener("click", e => {
    const link = e.target.closest("[data-go]");
    const run = lanes.get("run");
    if (!link || !run) return;
    const t = Number(link.dataset.go) / 1000;
    run.show(Math.max(run.zoom(), 4), t, .5);
    run.read(t);
  });

  // An event's number leads into the list, which may be folded.
  function unfold() {
    const row = /^#e\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!row) return;
    row.closest("details").open = true;
    row.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", unfold);
  document.addEventListener("click", e => {
    const link = e.target.closest('a[href^="#e"]');
    if (link && link.getAttribute("href") === location.hash) unfold();
  });
  unfold();
})();
