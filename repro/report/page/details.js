// Tables that sort, claims that open by their address, and pages that print in full.

const NUMBERS = new Intl.Collator("en", { numeric: true });

function sort(button) {
  const head = button.closest("th");
  const table = head.closest("table");
  const falling = head.getAttribute("aria-sort") === "ascending";
  const value = (row) => {
    const cell = row.cells[head.cellIndex];
    if (!("numeric" in button.dataset)) return cell.textContent;
    return cell.dataset.n === undefined ? null : Number(cell.dataset.n);
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null); // those without, last
    const order = typeof a === "number" ? a - b : NUMBERS.compare(a, b);
    return falling ? -order : order;
  };
  const sorted = [...table.querySelectorAll("tbody tr")].map((row) => [value(row), row]);
  sorted.sort(([a], [b]) => compare(a, b));
  fill(table, sorted.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => sort(button));
}

// Rows lie in bodies of so many, of which a long table lays out those in view.
function fill(table, rows) {
  const bodies = [...table.tBodies];
  const size = Math.ceil(rows.length / bodies.length);
  bodies.forEach((body, place) => {
    body.replaceChildren(...rows.slice(place * size, (place + 1) * size));
  });
}

function open() {
  const name = location.hash.slice(1);
  const target = document.getElementById(name);
  if (target instanceof HTMLDetailsElement) {
    target.hidden = false;
    target.open = true;
    target.scrollIntoView();
  } else if (!target && name) {
    const link = document.querySelector(`[data-for="${CSS.escape(name)}"] a`);
    if (link) location.replace(link.href);
  }
}
addEventListener("hashchange", open);
open();

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open], .values, [hidden])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
