// Sorts the tables, and lists every failover if the page has any. Without it the longest are
// listed.
"use strict";
(() => {
  const perPage = 100;

  // So many digits behind the point; half-way between two it is the even one, as in the tables
  // that the report itself writes.
  const fixed = (x, digits) => {
    const exact = x.toFixed(60), point = exact.indexOf(".");
    if (!/^50*$/.test(exact.slice(point + 1 + digits))) return x.toFixed(digits);
    const down = exact.slice(0, digits === 0 ? point : point + 1 + digits);
    return "02468".includes(down.at(-1)) ? down : x.toFixed(digits);
  };
  const ms = x => x === 0 ? "0" : Math.abs(x) >= 100 ? fixed(x, 0) : Math.abs(x) >= 10 ? fixed(x, 1) : fixed(x, 2);
  const valueOf = td => {
    const text = td.textContent, number = parseFloat(td.dataset.value ?? text.replace(/^at least /, "").replace(/,/g, ""));
    return Number.isNaN(number) ? text : number;
  };
  // Numbers come before what is none.
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : typeof a === typeof b ? a.localeCompare(b) : typeof a === "number" ? -1 : 1;

  // A button in each head; the second click turns the order round.
  const heads = (table, sort) => {
    table.querySelectorAll("thead th").forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = th.textContent;
      th.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = th.getAttribute("aria-sort") !== "descending";
        table.querySelectorAll("thead th").forEach(other => other.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(column, down ? -1 : 1);
      });
    });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    heads(table, (column, sign) => body.append(...[...body.rows].sort((a, b) =>
      sign * compare(valueOf(a.cells[column]), valueOf(b.cells[column])))));
  }

  const all = document.getElementById("rows");
  if (!all) return;
  const { cells, failovers } = JSON.parse(all.textContent);

  const table = document.getElementById("all"), body = table.tBodies[0], pages = document.getElementById("pages");
  if (failovers.length === 0) return;
  // cause, elector, run, at, from and to, wait, detect, acquire, announce, total, excess
  const rows = failovers.map(([cell, run, number, at, from, to, wait, detect, acquire, announce, total, excess, held]) => ({
    values: [cells[cell].cause, cells[cell].elector, number, at, from + " → " + to, wait, detect, acquire, announce, total, excess],
    link: cells[cell].runs[run], held: held === 1,
  }));
  let page = 0;
  const show = () => {
    body.replaceChildren(...rows.slice(page * perPage, (page + 1) * perPage).map(row => {
      const tr = document.createElement("tr");
      row.values.forEach((value, column) => {
        const td = document.createElement(column === 0 ? "th" : "td");
        let text = String(value);
        if (column === 3) text = fixed(value / 1000, 3) + " s";
        if (column > 4) text = ms(value);
        if (column === 10 && row.held) text += " (held up by the machine)";
        if (column === 2 && row.link !== "") {
          const link = document.createElement("a");
          link.href = row.link;
          link.textContent = text;
          td.append(link);
        } else {
          td.textContent = text;
        }
        if (column !== 0 && column !== 1 && column !== 4) td.className = "n";
        if (column === 0) td.scope = "row";
        tr.append(td);
      });
      return tr;
    }));
    pages.querySelector("output").textContent = `${page * perPage + 1} to ${Math.min(rows.length, (page + 1) * perPage)} of ${rows.length}`;
  };
  const sort = (column, sign) => {
    rows.sort((a, b) => sign * compare(a.values[column], b.values[column]));
    page = 0;
    show();
  };
  heads(table, sort);
  table.caption.textContent = "All of them, the longest first; milliseconds. The link leads to the run's report and its history";
  pages.hidden = false;
  pages.addEventListener("click", event => {
    const step = Number(event.target.dataset.step);
    if (!step) return;
    page = Math.min(Math.max(page + step, 0), Math.ceil(rows.length / perPage) - 1);
    show();
  });
  sort(9, -1);
})();
