/** Where the cache marks of a request stand among the items. */
import type { RequestItem, TimelineView } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { oneLine } from '../text/oneLine';

/** A place after which the client asked for the prompt to be cached. */
export interface ICacheMark {
  /** Its number in the request, from 1. */
  readonly number: number;
  readonly markCount: number;
  /** The item that it stands after; null where that is not known. */
  readonly item: number | null;
  /** Of an item of tools the definition that it stands after, from 0. */
  readonly definition: number | null;
  /** The place as it was sent, where the item is not known. */
  readonly place: string;
  /** How long it was asked for, such as `1h`; '' where that was left to the provider. */
  readonly lifetime: string;
}

const NO_MARKS: readonly ICacheMark[] = [];

/** Returns the marks of a request in the order of the prompt; none where none is recorded. */
export function marksOfRequest(
  view: TimelineView,
  request: number
): readonly ICacheMark[] {
  return marksByRequest(view).get(request) ?? NO_MARKS;
}

const marksByRequest = oncePerObject((view: TimelineView) => {
  const { request, item, definition, place, lifetime } = view.cache_marks;
  const markCounts = new Map<number, number>();
  for (const requestIndex of request) {
    markCounts.set(requestIndex, (markCounts.get(requestIndex) ?? 0) + 1);
  }
  const markLists = new Map<number, ICacheMark[]>();
  for (const [row, requestIndex] of request.entries()) {
    const marks = markLists.get(requestIndex) ?? [];
    marks.push({
      number: marks.length + 1,
      markCount: markCounts.get(requestIndex) ?? 0,
      item: indexOrNull(item[row]),
      definition: indexOrNull(definition[row]),
      place: place[row] ?? '',
      lifetime: lifetime[row] ?? ''
    });
    markLists.set(requestIndex, marks);
  }
  return markLists;
});

function indexOrNull(index: number | undefined): number | null {
  return index === undefined || index < 0 ? null : index;
}

/** Returns a mark in words: its number, and how long it was asked for. */
export function markWords({ number, markCount, lifetime }: ICacheMark): string {
  const name = `cache mark ${number} of ${markCount}`;
  return lifetime === '' ? name : `${name}, for ${oneLine(lifetime)}`;
}

/** Returns the marks that stand after a block of their request; of tools by the definition's name. */
export function marksAfterBlock(
  view: TimelineView,
  marks: readonly ICacheMark[],
  { item, kind, name }: Pick<RequestItem, 'item' | 'kind' | 'name'>
): ICacheMark[] {
  return marks.filter(mark => {
    if (mark.item === null || mark.item !== item) {
      return false;
    }
    const firstDefinition = view.definitions.item.indexOf(mark.item);
    return (
      kind !== 'tools' ||
      firstDefinition < 0 ||
      mark.definition === null ||
      view.definitions.name[firstDefinition + mark.definition] === name
    );
  });
}
