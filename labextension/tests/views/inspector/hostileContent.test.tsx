// @vitest-environment jsdom
/** Text of a recording is text: nothing in it becomes an element, an address or a turned line. */
import { fireEvent, screen } from '@testing-library/react';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TimelineView } from '../../../src/protocol/generated';
import { oneLine } from '../../../src/state/text/oneLine';
import { itemLabel } from '../../../src/state/inspector/labels';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { draw, drawsInspectors, openTab, settle } from './drawnInspector';

const FIXTURE = join(
  import.meta.dirname,
  '../../../../tests/fixtures/payloads.json'
);
const { payloads } = JSON.parse(readFileSync(FIXTURE, 'utf8')) as {
  payloads: { name: string; text: string }[];
};
const ODD = [
  '\u202eturned\u2066\u200f',
  'a\u0000b\u001b[31m\u0085',
  'long'.repeat(5_000),
  '$&$1%1%2'
];
const TEXTS = [...payloads.map(payload => payload.text), ...ODD];
/** Each drawing holds so many of the texts. */
const SHARE = 24;
const TURNED = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/;

drawsInspectors();

const PARTS = Array.from(
  { length: Math.ceil(TEXTS.length / SHARE) },
  (_, part) => TEXTS.slice(part * SHARE, (part + 1) * SHARE)
);

it.each(PARTS.map((texts, part) => ({ part, texts })))(
  'draws no element of part $part',
  async ({ texts }) => {
    const { tracks } = sample('swe_agent');
    const view = hostile(sample('swe_agent').view, texts);
    const source = sampleSource(view, tracks, item => pick(texts, item));
    const { container } = await draw(source, { request: 12, item: 3 });
    expect(container.textContent).toContain(oneLine(texts[0] ?? ''));
    for (const tab of ['Timeline', 'Items', 'Requests', 'Cost', 'Wastes']) {
      await openTab(tab);
      for (const button of screen.queryAllByRole('button', {
        expanded: false
      })) {
        fireEvent.click(button);
      }
      await settle();
      for (const element of container.querySelectorAll('*')) {
        expect(element.tagName).not.toMatch(
          /^(script|img|iframe|a|object|embed|link|form|video|audio|meta|base|math|foreignobject)$/i
        );
        for (const { name } of element.attributes) {
          expect(name).not.toMatch(/^on|href|src|action/);
        }
      }
    }
  }
);

it('turns no label, and keeps it on one line', () => {
  const view = hostile(sample('swe_agent').view, ODD);

  view.items.id.forEach((_, item) => {
    const label = itemLabel(view, item);
    expect(label).not.toMatch(TURNED);
    expect(label).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  });
  expect(oneLine('a\nb')).toBe('a·b');
});

/** Returns the view with texts in every place that a recording fills. */
function hostile(view: TimelineView, texts: readonly string[]): TimelineView {
  const [first = ''] = texts;
  const words = (value: readonly unknown[]) =>
    value.map((_, place) => pick(texts, place));
  return {
    ...view,
    title: first,
    origin: pick(texts, 1),
    models: words(view.models),
    items: {
      ...view.items,
      label: words(view.items.label),
      tool: words(view.items.tool)
    },
    ruler: { ...view.ruler, words: pick(texts, 2) },
    recorded: { ...view.recorded, words: words(view.recorded.words) },
    events: [
      { request: 1, kind: 'compact', cause: pick(texts, 3) },
      { request: 2, kind: 'prune', cause: pick(texts, 4) }
    ],
    breaks: [
      {
        request: 3,
        turn: 1,
        cause: pick(texts, 5),
        words: pick(texts, 6),
        expected: 10,
        read: 0,
        loss: 10,
        cost: 1,
        avoided_by: pick(texts, 7)
      }
    ],
    wastes: [
      {
        cost: 1,
        sentence: pick(texts, 8),
        link: 'palimpsest:ses_1/2',
        request: 1,
        is_fact: true,
        cost_is_fact: true
      }
    ],
    break_notes: [pick(texts, 9)],
    totals: [pick(texts, 10)],
    gaps: [pick(texts, 11)],
    limit_words: pick(texts, 14),
    subagents: [
      {
        session: pick(texts, 12),
        title: pick(texts, 13),
        request: 1,
        call: -1,
        requests: 1,
        tokens: 1,
        cost_is_fact: true
      }
    ]
  };
}

function pick(texts: readonly string[], place: number): string {
  return texts[place % texts.length] ?? '';
}
