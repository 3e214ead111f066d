// Search, tabs, copy buttons and the address of this service in the samples. The page is complete without them.

const base = new URL(".", import.meta.url).pathname.replace(/\/docs\/$/, "");
const LANGUAGE_KEY = "atrium-docs-language";

function selectLanguage(language) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isGroupWithLanguage = tab.parentElement.querySelector(`[data-language="${CSS.escape(language)}"]`);
    if (!isGroupWithLanguage) continue;
    const isSelected = tab.dataset.language === language;
    tab.ariaSelected = String(isSelected);
    tab.tabIndex = isSelected ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !isSelected;
  }
}

document.addEventListener("click", ({ target }) => {
  const tab = target.closest("[role=tab]");
  if (!tab) return;
  const top = tab.getBoundingClientRect().top;
  selectLanguage(tab.dataset.language);
  scrollBy(0, tab.getBoundingClientRect().top - top); // Samples above may have another height now.
  localStorage.setItem(LANGUAGE_KEY, tab.dataset.language);
});

document.addEventListener("keydown", (event) => {
  const tab = event.target.closest?.("[role=tab]");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!tab || !step) return;
  const tabs = [...tab.parentElement.children];
  const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
});

const menu = document.querySelector(".menu");
menu.addEventListener("click", () => (menu.ariaExpanded = String(menu.ariaExpanded !== "true")));

// The samples work when they are copied, because they name the address of this service.
const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode;
  if (text.data.includes("https://api.example.com")) {
    text.data = text.data.replaceAll("https://api.example.com", location.origin + base);
  }
}

for (const block of document.querySelectorAll(".sample, .prose pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.classList.add("sample");
  block.append(button);
}

const language = localStorage.getItem(LANGUAGE_KEY);
if (language) selectLanguage(language);
const side = document.querySelector(".side");
const current = side.querySelector("[aria-current]");
if (current) side.scrollTop = current.offsetTop - side.clientHeight / 3;

const input = document.querySelector(".search input");
const results = document.getElementById("results");
let index;

async function loadIndex() {
  const [{ default: MiniSearch }, documents] = await Promise.all([
    import("./minisearch.js"),
    fetch(`${base}/docs/search.json`).then((response) => response.json()),
  ]);
  const search = new MiniSearch({
    fields: ["title", "context", "text"],
    storeFields: ["title", "context"],
    searchOptions: { boost: { title: 4, context: 2 }, prefix: true, fuzzy: 0.15, combineWith: "AND" },
  });
  search.addAll(documents);
  return search;
}

async function showResults() {
  index ??= loadIndex();
  const search = await index;
  const found = input.value.trim() ? search.search(input.value).slice(0, 20) : [];
  results.replaceChildren(
    ...found.map(({ id, title, context }, position) => {
      const item = document.createElement("li");
      item.id = `result-${position}`;
      item.role = "option";
      item.dataset.href = `${base}/docs/${id}`;
      const where = document.createElement("small");
      where.textContent = context;
      item.append(title, where);
      return item;
    }),
  );
  if (input.value.trim() && found.length === 0) {
    const item = document.createElement("li");
    item.textContent = "Nothing found";
    results.append(item);
  }
  results.hidden = !input.value.trim();
  input.ariaExpanded = String(!results.hidden);
  select(0);
}

function select(position) {
  const items = [...results.querySelectorAll("[role=option]")];
  if (items.length === 0) return input.removeAttribute("aria-activedescendant");
  const selected = items[(position + items.length) % items.length];
  for (const item of items) item.ariaSelected = String(item === selected);
  input.setAttribute("aria-activedescendant", selected.id);
  selected.scrollIntoView({ block: "nearest" });
}

function selectedPosition() {
  return [...results.children].findIndex((item) => item.ariaSelected === "true");
}

function closeResults() {
  results.hidden = true;
  input.ariaExpanded = "false";
}

input.addEventListener("focus", () => (index ??= loadIndex()), { once: true });
input.addEventListener("input", showResults);
input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    input.value = "";
    closeResults();
    input.blur();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    select(selectedPosition() + (event.key === "ArrowDown" ? 1 : -1));
  } else if (event.key === "Enter") {
    event.preventDefault();
    results.children[selectedPosition()]?.click();
  }
});
results.addEventListener("click", ({ target }) => {
  const item = target.closest("[role=option]");
  if (!item) return;
  closeResults();
  location.assign(item.dataset.href);
});
document.addEventListener("click", ({ target }) => target.closest(".search") || closeResults());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
  event.preventDefault();
  input.focus();
});
