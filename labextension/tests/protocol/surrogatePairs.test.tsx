// @vitest-environment jsdom
/** Text with surrogate pairs is shown correctly, wherever a stream splits it. */
import { cleanup, render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/protocol/generated';
import { applyNotice } from '../../src/state/store/reducer';
import { EMPTY_TRANSCRIPT } from '../../src/state/store/transcript';
import { HostProvider } from '../../src/views/host';
import { SegmentView } from '../../src/views/segment/segmentView';
import * as build from '../builders';
import { HOST } from '../plainHost';

const CASES = 400;

/** Characters of every kind that has caused trouble; all equally likely. */
const SIGNS = [
  ...Array.from('aZ0 \n\t`*_#|<&>$\\[]()~'),
  '\0',
  '\u007f',
  '\ud83d',
  '\ude00',
  '\udbff',
  '\udc00',
  '\u{1f600}',
  '\u{1f469}\u200d\u{1f4bb}',
  '\u{10ffff}',
  '\u202e',
  '\u2066',
  '\u2069',
  '\u200b',
  '\u200f',
  '\ufeff',
  'e\u0301',
  '\u0301\u0301\u0301',
  '\u2028',
  'שלום',
  '漢字',
  '\ufffd',
  '```\n',
  '\n\n'
];

/** A seeded random generator (mulberry32), so that a failing case can be repeated. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return sides => {
    state = (state + 0x6d2b79f5) | 0;
    let now = Math.imul(state ^ (state >>> 15), 1 | state);
    now = (now + Math.imul(now ^ (now >>> 7), 61 | now)) ^ now;
    return ((now ^ (now >>> 14)) >>> 0) % sides;
  };
}

function sample(seed: number): { text: string; pieces: string[] } {
  const roll = dice(seed);
  let text = '';
  for (let left = roll(40); left > 0; left -= 1) {
    text +=
      roll(3) === 0
        ? String.fromCharCode(roll(0x10000))
        : (SIGNS[roll(SIGNS.length)] ?? '');
  }
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = at + 1 + roll(4);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return { text, pieces };
}

/** Returns Python's result for the same text: `encode('utf-16').decode('utf-16', 'replace')`. */
function expected(text: string): string {
  const units = new Uint16Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    units[index] = text.charCodeAt(index);
  }
  return new TextDecoder('utf-16le', { ignoreBOM: true }).decode(units);
}

/** Folds the pieces as deltas of a kernel. */
function folded(pieces: readonly string[]) {
  const part = build.text('', { id: 'prt', message_id: 'msg' });
  const { info } = build.assistant([], { id: 'msg' });
  const notices = [
    { type: 'message.updated', info },
    { type: 'message.part.updated', part },
    ...pieces.map(delta => ({
      type: 'message.part.delta',
      message_id: 'msg',
      part_id: 'prt',
      field: 'text',
      delta
    }))
  ] as unknown as Notice[];
  const told = notices.reduce(
    (now, notice, index) => applyNotice(now, { ...notice, seq: index + 1 }),
    EMPTY_TRANSCRIPT
  );
  const found = told.entries[0]?.message.parts[0];
  return found?.type === 'text' ? found.text : null;
}

const page = (text: string, live: boolean) => {
  const segment = build.segment([build.assistant([build.text(text)])], {
    open: live
  });
  return (
    <HostProvider value={HOST}>
      <SegmentView segment={segment} isLive={live} />
    </HostProvider>
  );
};

describe('a text of any signs, cut anywhere', () => {
  it('is folded whole: pairs are joined, halves replaced', () => {
    for (let seed = 1; seed <= CASES; seed += 1) {
      const { text, pieces } = sample(seed);
      const whole = expected(text);
      // The surrogate at the very end may still get its other half.
      const now = folded(pieces)?.replace(/[\ud800-\udbff]$/, '\ufffd');

      expect(now ?? '', `seed ${seed}`).toBe(whole);
    }
  });

  it('is drawn without a half of a character, while it grows and when it is over', () => {
    for (let seed = 1; seed <= CASES / 4; seed += 1) {
      const { text, pieces } = sample(seed);
      const { container, rerender } = render(page('', true));
      for (let count = 1; count <= pieces.length; count += 4) {
        rerender(page(folded(pieces.slice(0, count)) ?? '', true));
        expect(container.textContent, `seed ${seed}`).not.toMatch(
          /\p{Surrogate}/u
        );
      }
      rerender(page(folded(pieces) ?? '', false));

      const bare = (words: string) => words.replace(/[\s`~\w+#.-]/g, '');
      const shown = bare(container.textContent);
      expect(shown, `seed ${seed}`).not.toMatch(/\p{Surrogate}/u);
      const lost = Array.from(bare(expected(text))).filter(
        value => !shown.includes(value)
      );
      expect(lost, `seed ${seed}`).toEqual([]);
      cleanup();
    }
  });
});
