/** The link to a place keeps all of it, and an unknown piece breaks nothing. */
import { describe, expect, it } from 'vitest';
import { ALL_ITEMS } from '../../../src/state/inspector/itemRows';
import { linkTo, parseLink } from '../../../src/state/inspector/placeLink';
import {
  NOWHERE,
  type IInspectorPlace
} from '../../../src/state/inspector/source';
import samples from '../../../../tests/review/tables/place_links.json';

const WHOLE: Required<IInspectorPlace> = {
  request: 208,
  item: 11,
  definition: 2,
  subagent: 'ses_2',
  beside: 'recordings/pi & co.jsonl',
  side: 'second',
  against: 39,
  range: { first: 181, last: 226 },
  tab: 'cost',
  policy: 'sweagent.last_n n=10',
  price: 'units lifetime=1h',
  what_if: true,
  filter: {
    kind: 'output',
    tool: 'bash',
    text: 'a & b',
    changed: true,
    sort: 'size'
  },
  zoom: 2,
  explained: true
};

describe('a link', () => {
  it('keeps the place, counted from 1', () => {
    const link = linkTo('ses_a/b', { request: 3, item: 7 });

    expect(link).toBe('palimpsest:ses_a%2Fb/4/8');
    expect(parseLink(link)).toEqual({
      session: 'ses_a/b',
      place: { request: 3, item: 7 },
      unknownPieces: []
    });
  });

  it('keeps each field of a place', () => {
    const link = linkTo('ses_1', WHOLE);

    expect(parseLink(link)?.place).toEqual(WHOLE);
  });

  it('keeps an item of the newest request', () => {
    const place = { ...NOWHERE, item: 4 };

    expect(parseLink(linkTo('ses_1', place))?.place).toEqual(place);
  });

  it.each(samples)('is what the kernel writes: $link', ({ link }) => {
    const read = parseLink(link);

    expect(read?.unknownPieces).toEqual([]);
    expect(linkTo(read?.session ?? '', read?.place ?? NOWHERE)).toBe(link);
  });

  it('names the pieces that say nothing, and keeps the others', () => {
    const read = parseLink(
      'palimpsest:a/2?tab=newer&range=5-3&zoom=99&more=1&find=x&sort=old'
    );

    expect(read?.unknownPieces).toEqual([
      'tab=newer',
      'range=5-3',
      'zoom=99',
      'more=1',
      'sort=old'
    ]);
    expect(read?.place).toEqual({
      request: 1,
      item: null,
      filter: { ...ALL_ITEMS, text: 'x' }
    });
  });

  it.each([
    '',
    'https://x',
    'palimpsest:',
    'palimpsest:?tab=cost',
    'palimpsest:a/0',
    'palimpsest:%'
  ])('is not %s', text => {
    expect(parseLink(text)).toBeNull();
  });
});
