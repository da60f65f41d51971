"""Opens a page from disk in a headless browser and prints what a person would meet there, as one JSON object.

    .venv-services/chromium/bin/python tests/servers/browser.py PAGE.html [PICTURES]

Run by the interpreter that `.ci/services/chromium.sh` makes. With PICTURES, a folder, it leaves a picture of each view.
"""

import json
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

BROWSER = Path(sys.executable).parent / "browser"
VIEWS = {"desk": ("light", 1280, 800), "desk-dark": ("dark", 1280, 800), "phone": ("light", 360, 740), "phone-dark": ("dark", 360, 740)}

LAYOUT = """() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (color) => { const [r, g, b] = rgb(color).map(v => v / 255).map(
    v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => { for (; node; node = node.parentElement) { const c = getComputedStyle(node).backgroundColor;
    if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
  const contrast = (node) => { const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
  const shown = [...document.querySelectorAll('h1,h2,h3,p,dt,dd,a,summary,.label,.text,.badge,del,ins,.nothing')]
    .filter(node => node.offsetParent && !node.classList.contains('skip'));
  const pair = document.querySelector('article .pair');
  const [a, b] = [...pair.children].map(child => child.getBoundingClientRect());
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    faint: shown.filter(node => contrast(node) < 4.5).map(node => [node.tagName, node.className, contrast(node)]),
    sides: b.left >= a.right ? 'beside' : b.top >= a.bottom ? 'below' : 'overlapping',
    small: [...document.querySelectorAll('nav a, summary')].filter(node => node.getBoundingClientRect().height < 24).length,
  };
}"""

CONTENT = """() => ({
  headings: [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(node => [Number(node.tagName[1]), node.innerText]),
  landmarks: ['header', 'main', 'nav'].map(name => document.querySelectorAll(name).length),
  unnamed: [...document.querySelectorAll('section, article, nav')].filter(node => {
    const by = node.getAttribute('aria-labelledby');
    return !(node.getAttribute('aria-label') || by && document.getElementById(by)?.innerText); }).length,
  ids: [...document.querySelectorAll('[id]')].length - new Set([...document.querySelectorAll('[id]')].map(n => n.id)).size,
  marked: {del: [...document.querySelectorAll('del')].map(n => n.textContent),
           ins: [...document.querySelectorAll('ins')].map(n => n.textContent)},
  text: document.body.textContent,
  made: ['script', 'img', 'iframe', 'link', 'form', 'object'].map(name => document.querySelectorAll(name).length),
  language: document.documentElement.lang,
  title: document.title,
})"""

FOCUSED = """() => { const node = document.activeElement, style = getComputedStyle(node), box = node.getBoundingClientRect();
  return {tag: node.tagName, text: node.innerText.slice(0, 40), outline: style.outlineStyle + ' ' + style.outlineWidth,
          shown: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0}; }"""


def main() -> None:
    page_file, pictures = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        report = {"views": {name: look(browser, page_file, name, pictures) for name in VIEWS}}
        report.update(visit(browser, page_file))
        browser.close()
    print(json.dumps(report))


def look(browser, page_file, name, pictures):
    scheme, width, height = VIEWS[name]
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": height})
    page.goto(page_file.as_uri())
    found = page.evaluate(LAYOUT)
    if pictures:
        page.screenshot(path=pictures / f"{name}.png", full_page=True)
    page.close()
    return found


def visit(browser, page_file):
    """What is there, what it asks the world for, and where the Tab key leads."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.goto(page_file.as_uri())
    found = {"content": page.evaluate(CONTENT), "asked": list(asked), "said": list(said)}
    page.keyboard.press("Tab")
    found["skip"] = page.evaluate(FOCUSED)
    page.keyboard.press("Enter")
    found["skipped_to"] = page.evaluate("location.hash")
    page.goto(page_file.as_uri())
    found["tabs"] = []
    for _ in range(page.evaluate("document.querySelectorAll('a[href], summary').length")):
        page.keyboard.press("Tab")
        found["tabs"].append(page.evaluate(FOCUSED))
    page.evaluate("document.querySelector('details > summary').focus()")
    page.keyboard.press("Enter")
    found["opened"] = page.evaluate("document.querySelector('details').open")
    found["blocked"] = page.evaluate("fetch('http://127.0.0.1:9/').then(() => false, () => true)")
    found["violations"] = [text for text in said if "Content Security Policy" in text]
    page.close()
    return found


main()
