// @vitest-environment jsdom
/** A segment drawn from the store: its own section of the turn, during the turn and after. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type {
  Decision,
  Message,
  Status
} from '../../../src/protocol/generated';
import type { ISegment } from '../../../src/protocol/segment';
import {
  displayedSegment,
  isStale
} from '../../../src/state/display/liveSegment';
import {
  UNKNOWN_KERNEL,
  type IKernelView
} from '../../../src/state/store/kernelStore';
import { EMPTY_TRANSCRIPT } from '../../../src/state/store/transcript';
import { TurnActionsProvider } from '../../../src/views/actions/turn';
import { HostProvider } from '../../../src/views/host';
import { SegmentView } from '../../../src/views/segment/segmentView';
import {
  assistant,
  ran,
  segment,
  step,
  text,
  tool,
  user,
  sessionHead
} from '../../builders';
import { turn } from '../../panelActions';
import { HOST } from '../../plainHost';

const BUSY: Status = { type: 'busy' };
const IDLE: Status = { type: 'idle' };
const PROMPT = named(user([text('go')]), 'msg_0');

function named(message: Message, id: string): Message {
  return { ...message, info: { ...message.info, id } };
}

function view(
  turn: Message[],
  status: Status = BUSY,
  link: IKernelView['link'] = 'ready',
  decisions: Decision[] = []
): IKernelView {
  const entries = [PROMPT, ...turn].map(message => ({
    id: message.info.id,
    message
  }));
  const head = sessionHead({ seq: 9, status });
  const transcript = {
    ...EMPTY_TRANSCRIPT,
    seq: 9,
    status,
    entries,
    decisions
  };
  return {
    ...UNKNOWN_KERNEL,
    link,
    current: 'ses_1',
    sessions: new Map([['ses_1', { head, transcript, isLoaded: true }]])
  };
}

function open(more: Partial<ISegment> = {}): ISegment {
  const start = { part: 0, offset: 0, joint: '' };
  return segment([], { open: true, start, status: '*waits*', ...more });
}

function words({ messages }: ISegment): string[] {
  return messages.flatMap(({ parts }) =>
    parts.map(part => (part.type === 'text' ? part.text : part.type))
  );
}

describe('a segment that is drawn from the store', () => {
  it('says what came after it was saved', () => {
    const shown = displayedSegment(open(), view([assistant([text('Newer.')])]));

    expect(words(shown.segment)).toEqual(['Newer.']);
    expect(shown.isLive).toBe(true);
  });

  it('holds only its own stretch of the turn', () => {
    const turn = [
      assistant([text('One. Two.'), ran('python', {}, '')]),
      assistant([text('Three.')])
    ];
    const first = open({
      open: false,
      end: { part: 2, offset: 0, joint: '' },
      messages: [assistant([tool('python', running())])]
    });
    const second = open({ start: { part: 2, offset: 0, joint: '' } });

    expect(words(displayedSegment(first, view(turn)).segment)).toEqual([
      'One. Two.',
      'tool'
    ]);
    expect(words(displayedSegment(second, view(turn)).segment)).toEqual([
      'Three.'
    ]);
  });

  it('is cut inside a text where the kernel cut it, beyond the first plane too', () => {
    const turn = [assistant([text('🐧🐧\n\nmore\n\nrest')])];
    const start = { part: 0, offset: 4, joint: '```\n' };

    expect(
      words(displayedSegment(open({ start }), view(turn)).segment)
    ).toEqual(['```\nmore\n\nrest']);
  });

  it('ends where the words of another prompt begin', () => {
    const other = user([text('next')]);
    const turn = [
      assistant([text('Done.')], { finish: 'stop' }),
      other,
      assistant([text('Other.')])
    ];
    const shown = displayedSegment(open(), view(turn));

    expect(words(shown.segment)).toEqual(['Done.']);
    expect(shown.isLive).toBe(false);
  });

  it('holds the words that joined while it ran', () => {
    const turn = [
      assistant([ran('python', {}, '')], { finish: 'tool-calls' }),
      user([text('and be brief')]),
      assistant([text('Yes.')])
    ];

    expect(words(displayedSegment(open(), view(turn)).segment)).toEqual([
      'tool',
      'and be brief',
      'Yes.'
    ]);
  });

  it('is interrupted when its kernel is gone', () => {
    const turn = [assistant([text('I be')])];
    const gone = displayedSegment(open(), view(turn, IDLE, 'connecting'));
    const unknown = displayedSegment(open(), {
      ...UNKNOWN_KERNEL,
      link: 'absent'
    });

    expect(gone.isInterrupted).toBe(true);
    expect(gone.segment.open).toBe(false);
    expect(unknown.isInterrupted).toBe(true);
    expect(displayedSegment(open(), UNKNOWN_KERNEL).isInterrupted).toBe(false);
  });

  it('is drawn as it was saved once it says all', () => {
    const saved = segment([assistant([text('Saved.')])]);

    expect(displayedSegment(saved, view([])).segment).toBe(saved);
  });

  it('learns later what the model no longer sees of it', () => {
    const part = ran('read', { path: 'a.txt' }, 'line');
    const saved = segment([assistant([part])]);
    const decision = {
      id: 'dec_1',
      action: 'clear' as const,
      rule: 'prune/batch',
      message_id: part.message_id,
      part_id: part.id,
      numbers: {},
      tokens_before: 10,
      tokens_after: 1
    };
    const elsewhere = { ...decision, id: 'dec_2', part_id: 'prt_other' };
    const now = view([], BUSY, 'ready', [decision, elsewhere]);

    expect(displayedSegment(saved, now).segment.decisions).toEqual([decision]);
    expect(displayedSegment(saved, now)).toBe(displayedSegment(saved, now));
    expect(displayedSegment(saved, view([])).segment).toBe(saved);
  });
});

describe('an answer that is being written', () => {
  function show(messages: Message[], status: Status, stop = vi.fn()) {
    render(
      <HostProvider value={HOST}>
        <TurnActionsProvider value={{ ...turn(), stop }}>
          <SegmentView
            segment={open({ messages })}
            isLive={true}
            status={status}
            hasStopButton
          />
        </TurnActionsProvider>
      </HostProvider>
    );
    return stop;
  }

  it('stops at a press of its button', () => {
    const stop = show([assistant([text('I be')])], BUSY);
    fireEvent.click(screen.getByRole('button', { name: 'Stop' }));

    expect(stop).toHaveBeenCalledOnce();
  });

  it('says what it waits for, and that it writes', () => {
    show([assistant([step()])], BUSY);
    expect(screen.getByText('waits for the model')).toBeTruthy();
    cleanup();
    show([assistant([text('I be')])], BUSY);

    expect(screen.getByText('writes')).toBeTruthy();
  });

  it('says how long it has waited, once that is long', () => {
    const since = (ago: number) =>
      assistant([], { time: { created: Date.now() - ago } });
    show([since(1500)], BUSY);
    expect(screen.queryByText(/ s$/)).toBeNull();
    cleanup();
    show([since(65_000)], BUSY);

    expect(screen.getByText(/1 min 5 s/)).toBeTruthy();
    expect(screen.getByText(/1 min 5 s/).ariaHidden).toBe('true');
  });

  it('counts from the end of the last call', () => {
    show([assistant([ran('python', {}, 'done', Date.now() - 7200)])], BUSY);

    expect(screen.getByText(/· 7 s/)).toBeTruthy();
  });

  it('says that it summarises', () => {
    show([assistant([], { summary: true })], BUSY);

    expect(screen.getByText('compacts older turns')).toBeTruthy();
  });

  it('counts down to the next attempt', () => {
    const next = Date.now() + 2500;
    show([], { type: 'retry', attempt: 1, message: 'Too busy.', next });

    expect(screen.getByText(/Too busy. Attempt 2 in 3 s./)).toBeTruthy();
  });

  it('lets the time of a call pass', () => {
    show([assistant([tool('python', running(Date.now() - 65_000))])], BUSY);

    expect(screen.getByText(/1 min 5 s/)).toBeTruthy();
  });
});

function running(start = 0) {
  return {
    status: 'running' as const,
    input: {},
    title: '',
    metadata: {},
    time: { start }
  };
}

describe('a turn that failed', () => {
  const FAILED = assistant([], {
    error: { type: 'unknown', message: 'Without a word.' }
  });
  const saved = () => open({ open: false, messages: [FAILED] });

  it('can be tried again while nothing came after it', () => {
    const later = named(user([text('next')]), 'msg_9');

    expect(displayedSegment(saved(), view([FAILED], IDLE)).canRetry).toBe(true);
    expect(displayedSegment(saved(), view([FAILED], BUSY)).canRetry).toBe(
      false
    );
    expect(
      displayedSegment(saved(), view([FAILED], IDLE, 'dead')).canRetry
    ).toBe(false);
    expect(
      displayedSegment(saved(), view([FAILED, later], IDLE)).canRetry
    ).toBe(false);
    expect(displayedSegment(saved(), UNKNOWN_KERNEL).canRetry).toBeUndefined();
  });

  it('is drawn live again while it is tried, and is stale in the notebook then', () => {
    const answer = assistant([text('At last.')]);
    const now = view([FAILED, answer], BUSY);
    const { transcript } = now.sessions.get('ses_1') ?? {
      transcript: EMPTY_TRANSCRIPT
    };

    expect(displayedSegment(saved(), now).isLive).toBe(true);
    expect(words(displayedSegment(saved(), now).segment)).toEqual(['At last.']);
    expect(isStale(saved(), transcript)).toBe(true);
    expect(
      isStale(open({ open: false, messages: [FAILED, answer] }), transcript)
    ).toBe(false);
  });

  it('sends the retry from its cell', () => {
    const retry = vi.fn(() => Promise.resolve(''));
    render(
      <HostProvider value={HOST}>
        <TurnActionsProvider value={{ ...turn(), retry }}>
          <SegmentView segment={saved()} canRetry />
        </TurnActionsProvider>
      </HostProvider>
    );
    fireEvent.click(screen.getByRole('button', { name: 'Retry' }));

    expect(retry).toHaveBeenCalledOnce();
  });
});

it('shows words that were said into the turn, also after an answer that was whole', () => {
  const steered = user([text('and this')]);
  Object.assign(steered.info, { joins: true });
  const turn = [assistant([text('One.')], { finish: 'stop' }), steered];

  expect(words(displayedSegment(open(), view(turn)).segment)).toEqual([
    'One.',
    'and this'
  ]);
});
