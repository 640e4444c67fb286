/** The names of the grid's rows: a number, and what tells an item from its neighbours. */
import type { TimelineView } from '../../protocol/generated';
import { definitionsOf } from './definitionRows';
import { itemLabel, shortName } from './labels';
import { oncePerObject } from '../../protocol/oncePerObject';
import { count } from '../text/numberFormat';

/** A folder with which at least this share of a session's paths begin is left out of their names. */
const MIN_COMMON_SHARE = 0.8;
const PATH = /^[^\s/]*(?:\/[^\s/]+)+\/?$/;
/** A command that goes into a folder before another. */
const INTO_FOLDER = /^cd\s+(?:"[^"]*"|'[^']*'|[^\s;&]+)\s*(?:&&|;)\s*(?=\S)/;

/** Returns an item's number and its name in at most `letters` letters; a path is shortened to its last part or two. */
export function rowName(
  view: TimelineView,
  item: number,
  maxLetters: number
): string {
  const definitionCount = definitionsOf(view, item).count;
  const label =
    itemLabel(view, item) +
    (definitionCount > 0 ? ` (${count(definitionCount)})` : '');
  const ownLabel = view.items.label[item] ?? '';
  const maxNameLetters = Math.max(maxLetters - `${item + 1} `.length, 3);
  const names = shortLabels(ownLabel, commonFolder(view)).map(shorterLabel =>
    ownLabel === '' ? label : label.replace(ownLabel, () => shorterLabel)
  );
  const name =
    names.find(({ length }) => length <= maxNameLetters) ??
    shortName(names.at(-1) ?? label, maxNameLetters);
  return `${item + 1} ${name}`;
}

/** Returns an item's name without the folder that most paths share, or that in which its command runs. */
export function itemName(view: TimelineView, item: number): string {
  const label = itemLabel(view, item);
  const ownLabel = view.items.label[item] ?? '';
  const [shorterLabel = ownLabel] = shortLabels(ownLabel, commonFolder(view));
  return ownLabel === '' ? label : label.replace(ownLabel, () => shorterLabel);
}

/** Returns forms of a label without the folder that most paths share or in which its command runs, the longest first. */
function shortLabels(label: string, folder: string): string[] {
  if (!PATH.test(label)) {
    return [label.replace(INTO_FOLDER, '')];
  }
  const pathRest = label.startsWith(folder)
    ? label.slice(folder.length)
    : label;
  const pathParts = pathRest.split('/');
  return [
    pathParts.length > 2 ? `…/${pathParts.slice(-2).join('/')}` : pathRest,
    pathParts.at(-1) ?? pathRest
  ];
}

/** Returns the folder in which most paths of a session lie, with a slash at its end; '' where there is none. */
const commonFolder = oncePerObject((view: TimelineView): string => {
  const paths = view.items.label.filter(label => PATH.test(label));
  let folder = '';
  for (;;) {
    const pathCounts = new Map<string, number>();
    for (const path of paths) {
      const endIndex = path.startsWith(folder)
        ? path.indexOf('/', folder.length)
        : -1;
      if (endIndex >= 0 && endIndex < path.length - 1) {
        const innerFolder = path.slice(0, endIndex + 1);
        pathCounts.set(innerFolder, (pathCounts.get(innerFolder) ?? 0) + 1);
      }
    }
    const [mostCommon] = [...pathCounts].sort(
      ([, left], [, right]) => right - left
    );
    if (
      mostCommon === undefined ||
      mostCommon[1] < MIN_COMMON_SHARE * paths.length
    ) {
      break;
    }
    [folder] = mostCommon;
  }
  return folder;
});
