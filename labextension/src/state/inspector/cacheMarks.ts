/** Where the cache marks of a request stand among the items. */
import type { RequestItem, TimelineView } from '../../protocol/generated';
import { oncePerObject } from '../../protocol/oncePerObject';
import { oneLine } from '../text/oneLine';

/** A place after which the client asked for the prompt to be cached. */
export interface ICacheMark {
  /** Its number in the request, from 1. */
  readonly number: number;
  readonly total: number;
  /** The item that it stands after; null where that is not known. */
  readonly item: number | null;
  /** Of an item of tools the definition that it stands after, from 0. */
  readonly definition: number | null;
  /** The place as it was sent, where the item is not known. */
  readonly place: string;
  /** How long it was asked for, such as `1h`; '' where that was left to the provider. */
  readonly lifetime: string;
}

const NONE: readonly ICacheMark[] = [];

/** Returns the marks of a request in the order of the prompt; none where none is recorded. */
export function marksAt(
  view: TimelineView,
  request: number
): readonly ICacheMark[] {
  return marksByRequest(view).get(request) ?? NONE;
}

const marksByRequest = oncePerObject((view: TimelineView) => {
  const { request, item, definition, place, lifetime } = view.cache_marks;
  const totals = new Map<number, number>();
  for (const at of request) {
    totals.set(at, (totals.get(at) ?? 0) + 1);
  }
  const byRequest = new Map<number, ICacheMark[]>();
  for (const [row, at] of request.entries()) {
    const marks = byRequest.get(at) ?? [];
    marks.push({
      number: marks.length + 1,
      total: totals.get(at) ?? 0,
      item: numberOrNull(item[row]),
      definition: numberOrNull(definition[row]),
      place: place[row] ?? '',
      lifetime: lifetime[row] ?? ''
    });
    byRequest.set(at, marks);
  }
  return byRequest;
});

function numberOrNull(number: number | undefined): number | null {
  return number === undefined || number < 0 ? null : number;
}

/** Returns a mark in words: its number, and how long it was asked for. */
export function markWords({ number, total, lifetime }: ICacheMark): string {
  const name = `cache mark ${number} of ${total}`;
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
    const first = view.definitions.item.indexOf(mark.item);
    return (
      kind !== 'tools' ||
      first < 0 ||
      mark.definition === null ||
      view.definitions.name[first + mark.definition] === name
    );
  });
}
