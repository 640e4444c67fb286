/**
 * Links to a place in a session: `palimpsest:session/4/8?tab=cost`, in which requests and items count from 1.
 *
 * `review/tables/inspector_place.py` writes and reads the same links.
 */
import { INSPECTOR_TABS, type ItemFilter } from '../../protocol/generated';
import { ALL_ITEMS } from './itemRows';
import { NOWHERE, type IInspectorPlace } from './source';

/** A place that a link names. */
interface ILinkedPlace {
  readonly session: string;
  readonly place: IInspectorPlace;
  /** Pieces of the link that say nothing to this version, such as `tab=newer`. */
  readonly unknownPieces: readonly string[];
}

type LinkPiece = readonly [name: string, text: string];

/** Returns the link to a place in a session. */
export function linkTo(session: string, place: IInspectorPlace): string {
  const { request, item } = place;
  const path = [session, ...(request === null ? [] : [numberText(request)])];
  const pieces = [...placePieces(place)].filter(([name]) => name !== 'request');
  if (request !== null && item !== null) {
    path.push(numberText(item));
  }
  const query = pieces
    .filter(([name]) => name !== 'item' || request === null)
    .map(piece => piece.map(encodeURIComponent).join('='))
    .join('&');
  const link = `palimpsest:${path.map(encodeURIComponent).join('/')}`;
  return query === '' ? link : `${link}?${query}`;
}

const LINK =
  /^palimpsest:([^/?]+)(?:\/([1-9]\d{0,8}))?(?:\/([1-9]\d{0,8}))?(?:\?(.*))?$/s;

/** Reads a link to a place; null for any other text. */
export function parseLink(link: string): ILinkedPlace | null {
  const match = LINK.exec(link);
  if (match === null) {
    return null;
  }
  const [, session = '', request, item, query = ''] = match;
  const path: LinkPiece[] = [
    ...(request === undefined ? [] : [['request', request] as const]),
    ...(item === undefined ? [] : [['item', item] as const])
  ];
  try {
    return {
      session: decodeURIComponent(session),
      ...placeFrom([...path, ...new URLSearchParams(query)])
    };
  } catch {
    return null;
  }
}

/** Returns the place that pieces name, and the pieces that name nothing. */
export function placeFrom(
  pieces: readonly LinkPiece[]
): Pick<ILinkedPlace, 'place' | 'unknownPieces'> {
  let place = NOWHERE;
  const unknownPieces: string[] = [];
  for (const [name, text] of pieces) {
    const change = PIECE_READERS[name]?.(text, place) ?? null;
    if (change === null) {
      unknownPieces.push(`${name}=${text}`);
    } else {
      place = { ...place, ...change };
    }
  }
  return { place, unknownPieces };
}

/** Yields what is not as the inspector opens; values of other types, as anybody may pass them, are pieces, too. */
export function* placePieces(
  place: Partial<IInspectorPlace>
): Generator<LinkPiece> {
  for (const name of ['request', 'item', 'definition', 'against'] as const) {
    const index = place[name] ?? null;
    if (index !== null) {
      yield [name, numberText(index)];
    }
  }
  const { first, last } = place.range ?? {};
  if (first !== undefined && last !== undefined) {
    yield ['range', `${numberText(first)}-${numberText(last)}`];
  }
  for (const name of TEXT_PIECES) {
    const text = place[name];
    if (typeof text === 'string' && text !== '') {
      yield [name, text];
    }
  }
  for (const name of ['what_if', 'explained'] as const) {
    if (place[name] === true) {
      yield [name, '1'];
    }
  }
  if (typeof place.zoom === 'number' && place.zoom > 0) {
    yield ['zoom', String(place.zoom)];
  }
  const { kind, tool, text, changed, sort } = { ...ALL_ITEMS, ...place.filter };
  yield* Object.entries({ kind, tool, find: text }).filter(
    ([, value]) => value !== ''
  );
  if (changed) {
    yield ['changed', '1'];
  }
  if (sort !== ALL_ITEMS.sort) {
    yield ['sort', sort];
  }
}

const TEXT_PIECES = [
  'subagent',
  'beside',
  'side',
  'tab',
  'policy',
  'price'
] as const;

type PieceReader = (
  text: string,
  place: IInspectorPlace
) => Partial<IInspectorPlace> | null;

/** What each piece says; null for a text that it cannot have. */
const PIECE_READERS: Readonly<Record<string, PieceReader | undefined>> = {
  request: text => numberPiece(text, request => ({ request })),
  item: text => numberPiece(text, item => ({ item })),
  definition: text => numberPiece(text, definition => ({ definition })),
  against: text => numberPiece(text, against => ({ against })),
  range: text => {
    const [, first, last] = /^(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
    const range = { first: Number(first) - 1, last: Number(last) - 1 };
    return range.first >= 0 && range.first <= range.last ? { range } : null;
  },
  subagent: subagent => (subagent === '' ? null : { subagent }),
  beside: beside => (beside === '' ? null : { beside }),
  side: text => (text === 'second' ? { side: text } : null),
  tab: text => {
    const tab = INSPECTOR_TABS.find(name => name === text);
    return tab === undefined ? null : { tab };
  },
  policy: policy => (policy === '' ? null : { policy }),
  price: price => (price === '' ? null : { price }),
  what_if: text => flagPiece(text, what_if => ({ what_if })),
  explained: text => flagPiece(text, explained => ({ explained })),
  zoom: text => (/^\d$/.test(text) ? { zoom: Number(text) } : null),
  kind: (kind, place) => filterChange(place, { kind }),
  tool: (tool, place) => filterChange(place, { tool }),
  find: (text, place) => filterChange(place, { text }),
  changed: (text, place) =>
    flagPiece(text, changed => filterChange(place, { changed })),
  sort: (text, place) =>
    text === 'size' || text === 'order'
      ? filterChange(place, { sort: text })
      : null
};

function filterChange(
  { filter }: IInspectorPlace,
  change: Partial<ItemFilter>
): Partial<IInspectorPlace> {
  return { filter: { ...ALL_ITEMS, ...filter, ...change } };
}

function numberPiece(
  text: string,
  placeChange: (index: number) => Partial<IInspectorPlace>
): Partial<IInspectorPlace> | null {
  return /^[1-9]\d{0,8}$/.test(text) ? placeChange(Number(text) - 1) : null;
}

function flagPiece(
  text: string,
  placeChange: (isOn: boolean) => Partial<IInspectorPlace>
): Partial<IInspectorPlace> | null {
  return text === '1' || text === '0' ? placeChange(text === '1') : null;
}

function numberText(index: number): string {
  return String(index + 1);
}
