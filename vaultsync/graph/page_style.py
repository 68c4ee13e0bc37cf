"""How the graph's page looks, on light and on dark ground."""

from __future__ import annotations

STYLE = """
:root { --ground: #fbfaf8; --text: #23262f; --soft: #6b7080; --line: #d9d8d4;
  --edge: #8d92a3; --card: #ffffffee; --focus: #2b6fd6; --strong: #111318; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --ground: #16181d;
  --text: #e3e5ea; --soft: #9aa0ae; --line: #343843; --edge: #737a8c; --card: #20232bee;
  --focus: #7fb2ff; --strong: #ffffff; } }
:root[data-theme=dark] { --ground: #16181d; --text: #e3e5ea; --soft: #9aa0ae; --line: #343843;
  --edge: #737a8c; --card: #20232bee; --focus: #7fb2ff; --strong: #ffffff; }
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; overflow: hidden; background: var(--ground);
  color: var(--text); font: 14px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
canvas { position: fixed; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: grab;
  outline: none; }
canvas:focus-visible { box-shadow: inset 0 0 0 2px var(--focus); }
canvas.moving { cursor: grabbing; }
canvas.over { cursor: pointer; }
header, nav, aside, #tools { position: fixed; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; box-shadow: 0 4px 18px #0000001f; }
header { top: 12px; left: 12px; width: min(300px, calc(100vw - 24px)); padding: 12px 14px; }
h1 { margin: 0; font-size: 15px; font-weight: 650; }
header p { margin: 1px 0 9px; color: var(--soft); font-size: 12.5px; }
.find label { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); }
input { width: 100%; padding: 7px 10px; border: 1px solid var(--line); border-radius: 7px;
  background: var(--ground); color: inherit; font: inherit; }
ul { list-style: none; margin: 0; padding: 0; }
#results { margin-top: 8px; max-height: 44vh; overflow: auto; }
#results li { padding: 5px 8px; border-radius: 6px; cursor: pointer; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
#results li[aria-selected=true], #results li:hover { background: #7f8fb038; }
#results small { color: var(--soft); margin-left: 6px; }
nav { left: 12px; bottom: 12px; padding: 6px; max-height: 42vh; overflow: auto; }
nav button { display: flex; gap: 8px; align-items: center; width: 100%; padding: 3px 9px 3px 7px;
  border: 0; border-radius: 6px; background: none; color: inherit; font: inherit;
  font-size: 12.5px; cursor: pointer; text-align: left; }
nav button:hover, #tools button:hover, aside button:hover { background: #7f8fb030; }
nav button[aria-pressed=false] { opacity: 0.42; text-decoration: line-through; }
nav b { margin-left: auto; padding-left: 14px; font-weight: 400; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.dot { flex: none; width: 10px; height: 10px; border-radius: 50%; display: inline-block; }
aside { top: 12px; right: 12px; width: min(330px, calc(100vw - 24px));
  max-height: calc(100vh - 90px); overflow: auto; padding: 14px 16px; }
aside h2 { margin: 0 26px 6px 0; font-size: 16px; line-height: 1.3; overflow-wrap: anywhere; }
aside h3 { margin: 13px 0 3px; font-size: 12px; font-weight: 600; color: var(--soft); }
aside p { margin: 0 0 4px; color: var(--soft); font-size: 12.5px; }
aside code { font: 12px/1.4 ui-monospace, "SF Mono", Consolas, monospace; color: var(--text);
  overflow-wrap: anywhere; user-select: all; }
aside li button { display: flex; gap: 8px; align-items: baseline; width: 100%; padding: 3px 6px;
  margin-left: -6px; border: 0; border-radius: 6px; background: none; color: inherit; font: inherit;
  text-align: left; cursor: pointer; }
aside .close { position: absolute; top: 9px; right: 9px; width: 26px; height: 26px; border: 0;
  border-radius: 6px; background: none; color: var(--soft); font-size: 17px; cursor: pointer; }
#tools { right: 12px; bottom: 12px; display: flex; padding: 4px; gap: 2px; }
#tools button { min-width: 34px; height: 30px; padding: 0 9px; border: 0; border-radius: 6px;
  background: none; color: inherit; font: inherit; cursor: pointer; }
#keys { position: fixed; left: 50%; bottom: 14px; transform: translateX(-50%); margin: 0;
  color: var(--soft); font-size: 12px; pointer-events: none; white-space: nowrap; }
@media (max-width: 1000px) { #keys { position: fixed; left: -9999px; } }
@media (max-width: 640px) { nav { display: none; } aside { top: auto; bottom: 60px;
  max-height: 45vh; } }
button:focus-visible, input:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.none { position: fixed; inset: 40% 0 auto; text-align: center; }
[hidden] { display: none !important; }
"""
