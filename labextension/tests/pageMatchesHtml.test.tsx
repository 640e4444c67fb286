// @vitest-environment jsdom
/**
 * The page shows the same text as HTML: the samples, with the text of each in HTML, are written by
 * Python (tests/render/reader_samples.py).
 */
import { fireEvent, render, screen } from '@testing-library/react';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  PART_TYPES,
  type AssistantMessage,
  type Decision,
  type Part
} from '../src/protocol/generated';
import type { ISegment } from '../src/protocol/segment';
import { newAnnouncements } from '../src/state/display/announcements';
import { EMPTY_TRANSCRIPT } from '../src/state/store/transcript';
import { HostProvider } from '../src/views/host';
import { SegmentView } from '../src/views/segment/segmentView';
import * as build from './builders';
import { HOST } from './plainHost';

interface ITold {
  decisions: { decision: Decision; strip: string }[];
  parts: { part: Part; shown: boolean; facts: string[] }[];
  ends: {
    by: string;
    message: { info: AssistantMessage; parts: Part[] };
    sentence: string;
  }[];
}

const TOLD = JSON.parse(
  readFileSync('../tests/fixtures/reader_samples.json', 'utf8')
) as ITold;

const SUMMARY = build.assistant([build.text('We read a file.')], {
  summary: true,
  time: { created: 0, completed: 1 }
});

/** Draws a segment with everything opened; returns its text. */
function said(segment: ISegment): string {
  const { container } = render(
    <HostProvider value={HOST}>
      <SegmentView segment={segment} isLive={false} />
    </HostProvider>
  );
  for (const button of screen.queryAllByRole('button', { expanded: false })) {
    fireEvent.click(button);
  }
  const pictures = [...container.querySelectorAll('img')].map(
    ({ alt, src }) => `${alt} ${src.split(';')[0] ?? ''}`
  );
  return plain([container.textContent, ...pictures].join(' '));
}

function plain(words: string): string {
  return words.replace(/\s+/g, ' ').trim();
}

/** Returns a segment with the subject of a decision: a call, or a summary. */
function around(decision: Decision): ISegment {
  const more = { decisions: [decision] };
  if (decision.part_id === undefined) {
    const info = { ...SUMMARY.info, id: decision.message_id ?? '' };
    return build.segment([{ ...SUMMARY, info }], more);
  }
  const call = {
    ...build.ran('read', { path: 'a.txt' }, 'line'),
    id: decision.part_id,
    message_id: decision.message_id ?? ''
  };
  return build.segment([build.assistant([call])], more);
}

describe('a decision', () => {
  it.each(
    TOLD.decisions.map(
      ({ decision, strip }) =>
        [`${decision.rule} ${decision.id}`, decision, strip] as const
    )
  )('is told in the words of the HTML: %s', (_name, decision, strip) => {
    const words = said(around(decision));

    expect(
      words.split(strip === '' ? (decision.words ?? '') : strip)
    ).toHaveLength(strip === '' ? 1 : 2);
  });

  it('of an old notebook, which lacks the words, says what was done', () => {
    const made = TOLD.decisions.find(
      ({ decision }) => decision.rule === 'prune/batch'
    )?.decision as Decision;
    const old = { ...made, words: undefined } as unknown as Decision;

    expect(said(around(old))).toContain(
      'Cleared for the model: 4,000 → 15 tokens, by rule prune/batch; the whole text is kept'
    );
  });
});

describe('a part', () => {
  it('of every type is tried', () => {
    expect(new Set(TOLD.parts.map(({ part }) => part.type))).toEqual(
      new Set(PART_TYPES)
    );
  });

  it.each(
    TOLD.parts.map(
      entry => [`${entry.part.type} ${entry.part.id}`, entry] as const
    )
  )('is shown where the HTML shows it: %s', (_name, { part, shown, facts }) => {
    const message = build.assistant([part]);
    const after = part.type === 'compaction' ? [SUMMARY] : [];
    const words = said(build.segment([message, ...after]));

    expect(words !== '').toBe(shown);
    for (const fact of facts) {
      expect(words).toContain(fact);
    }
  });

  it.each(
    TOLD.parts.filter(
      ({ part }) => part.type === 'file' || part.type === 'agent'
    )
  )('is shown in words of a person, too', ({ part, facts }) => {
    const words = said(build.segment([build.user([part])]));

    for (const fact of facts) {
      expect(words).toContain(fact);
    }
  });
});

describe('the end of a turn', () => {
  it.each(TOLD.ends.map(entry => [entry.by, entry] as const))(
    'is drawn and read aloud: %s',
    (_by, { message, sentence }) => {
      const says = { id: message.info.id, message };
      const busy = { ...EMPTY_TRANSCRIPT, status: { type: 'busy' as const } };
      const [, before] = newAnnouncements(busy, null);

      expect(said(build.segment([message])).split(sentence)).toHaveLength(2);
      const [heard, now] = newAnnouncements(
        { ...EMPTY_TRANSCRIPT, entries: [says] },
        before
      );
      expect(heard).toContainEqual({ kind: 'words', text: sentence });
      expect(heard.at(-1)).toEqual({
        kind: message.info.error === undefined ? 'over' : 'stopped'
      });
      expect(
        newAnnouncements(
          { ...EMPTY_TRANSCRIPT, entries: [{ ...says }] },
          now
        )[0]
      ).toEqual([]);
    }
  );

  it('is tried for limits, circles and refusals', () => {
    expect(TOLD.ends.map(({ by }) => by)).toEqual(
      expect.arrayContaining(['steps', 'circle', 'rejected'])
    );
  });
});
