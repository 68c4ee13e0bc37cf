/** The icons that the app has, which are Lucide's. */

import {
	Activity, ArrowRight, Bot, BrainCircuit, CheckCheck, ChevronRight, createElement, FileClock, FileQuestionMark, FileText,
	Folder, GitCompare, History, Link, ListChecks, ListTree, Package, PackagePlus, RefreshCw, SearchX, Search, Settings, Sparkles, TriangleAlert,
	Unplug, User, X, type IconNode,
} from "lucide";

const ICONS: Record<string, IconNode> = {
	activity: Activity, "arrow-right": ArrowRight, bot: Bot, "brain-circuit": BrainCircuit, "check-check": CheckCheck,
	"chevron-right": ChevronRight, "file-clock": FileClock, "file-question": FileQuestionMark, "file-text": FileText, folder: Folder,
	"git-compare": GitCompare, history: History, link: Link, "list-checks": ListChecks, "list-tree": ListTree, package: Package, "package-plus": PackagePlus,
	"refresh-cw": RefreshCw, "search-x": SearchX, search: Search, settings: Settings, sparkles: Sparkles,
	"alert-triangle": TriangleAlert, unplug: Unplug, user: User, x: X,
};

/** Fails on a name that the app does not have. */
export function setIcon(parent: HTMLElement, name: string): void {
	const icon = ICONS[name];
	if (!icon) throw new Error(`there is no icon ${name}`);
	const svg = createElement(icon);
	svg.setAttribute("class", `svg-icon lucide-${name}`);
	parent.replaceChildren(svg);
}
