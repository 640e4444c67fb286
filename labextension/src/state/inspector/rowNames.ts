/** The names of the grid's rows: a number, and what tells an item from its neighbours. */
import type { TimelineView } from '../../protocol/generated';
import { definitionsOf } from './definitionRows';
import { itemLabel, shortName } from './labels';
import { oncePerObject } from '../../protocol/oncePerObject';
import { count } from '../text/numberFormat';

/** A folder with which at least this share of a session's paths begin is left out of their names. */
const COMMON_SHARE = 0.8;
const PATH = /^[^\s/]*(?:\/[^\s/]+)+\/?$/;
/** A command that goes into a folder before another. */
const INTO_FOLDER = /^cd\s+(?:"[^"]*"|'[^']*'|[^\s;&]+)\s*(?:&&|;)\s*(?=\S)/;

/** Returns an item's number and its name in at most `letters` letters; a path is shortened to its last part or two. */
export function rowName(
  view: TimelineView,
  item: number,
  letters: number
): string {
  const definitions = definitionsOf(view, item).count;
  const label =
    itemLabel(view, item) + (definitions > 0 ? ` (${count(definitions)})` : '');
  const own = view.items.label[item] ?? '';
  const room = Math.max(letters - `${item + 1} `.length, 3);
  const names = shortLabels(own, commonFolder(view)).map(shorter =>
    own === '' ? label : label.replace(own, () => shorter)
  );
  const name =
    names.find(({ length }) => length <= room) ??
    shortName(names.at(-1) ?? label, room);
  return `${item + 1} ${name}`;
}

/** Returns an item's name without the folder that most paths share, or that in which its command runs. */
export function itemName(view: TimelineView, item: number): string {
  const label = itemLabel(view, item);
  const own = view.items.label[item] ?? '';
  const [shorter = own] = shortLabels(own, commonFolder(view));
  return own === '' ? label : label.replace(own, () => shorter);
}

/** Returns forms of a label without the folder that most paths share or in which its command runs, the longest first. */
function shortLabels(label: string, folder: string): string[] {
  if (!PATH.test(label)) {
    return [label.replace(INTO_FOLDER, '')];
  }
  const rest = label.startsWith(folder) ? label.slice(folder.length) : label;
  const parts = rest.split('/');
  return [
    parts.length > 2 ? `…/${parts.slice(-2).join('/')}` : rest,
    parts.at(-1) ?? rest
  ];
}

/** Returns the folder in which most paths of a session lie, with a slash at its end; '' where there is none. */
const commonFolder = oncePerObject((view: TimelineView): string => {
  const paths = view.items.label.filter(label => PATH.test(label));
  let folder = '';
  for (;;) {
    const counts = new Map<string, number>();
    for (const path of paths) {
      const end = path.startsWith(folder)
        ? path.indexOf('/', folder.length)
        : -1;
      if (end >= 0 && end < path.length - 1) {
        const inner = path.slice(0, end + 1);
        counts.set(inner, (counts.get(inner) ?? 0) + 1);
      }
    }
    const [next] = [...counts].sort(([, left], [, right]) => right - left);
    if (next === undefined || next[1] < COMMON_SHARE * paths.length) {
      break;
    }
    [folder] = next;
  }
  return folder;
});
