// @vitest-environment jsdom
/** Notes of people in the inspector: listed, marked, read at the cursor, and written where a kernel is behind. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen,
  within
} from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NoteView, ViewAnswer } from '../../../src/protocol/generated';
import type {
  IInspectorSource,
  INoteWords,
  InspectorPartName
} from '../../../src/state/inspector/source';
import { HostProvider } from '../../../src/views/host';
import { Inspector } from '../../../src/views/inspector/inspector';
import { HOST } from '../../plainHost';
import { sampleSource } from '../../inspector/sampleSource';
import { sample } from '../../inspector/samples';
import { draw, settle } from './drawnInspector';

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Returns a note as the kernel sends it. */
function noteView(
  id: string,
  text: string,
  found: NoteView['found'],
  note: Partial<NoteView['note']> = {}
): NoteView {
  return {
    note: {
      id,
      session: 'ses_1',
      author: 'Ann',
      time: Date.UTC(2026, 10, 30),
      place: { kind: 'request', item: '' },
      text,
      tag: '',
      verdict: '',
      changed_by: '',
      ...note
    },
    found
  };
}

const NOTES = [
  noteView(
    'a',
    'Reads the <b>file</b> again.\nAnd again.',
    { text: 'request 3', request: 2 },
    { verdict: 'bad', tag: 'reread' }
  ),
  noteView('b', 'A long range.', {
    text: 'requests 2 to 5',
    request: 1,
    last_request: 4
  }),
  noteView(
    'c',
    '',
    { text: 'the session' },
    { verdict: 'good', changed: Date.UTC(2026, 11, 1), changed_by: 'Bo' }
  )
];

function sourceWith(notes: readonly NoteView[]): IInspectorSource {
  const { view, tracks, compactions } = sample('claude_code');
  return sampleSource(view, tracks, undefined, compactions, notes);
}

/** Returns a source that can be written, and what was written to it. */
function writableSource(notes: readonly NoteView[], error = '') {
  const written: INoteWords[] = [];
  const source: IInspectorSource = {
    ...sourceWith(notes),
    note: words => {
      written.push(words);
      const answer: ViewAnswer = {
        unchanged: false,
        milliseconds: 0,
        error,
        ...(error === ''
          ? {
              notes: {
                notes: [
                  ...notes,
                  noteView('new', words.text ?? '', {
                    text: 'request 3',
                    request: 2
                  })
                ],
                problems: []
              }
            }
          : {})
      };
      return Promise.resolve(answer);
    }
  };
  return { source, written };
}

async function click(element: HTMLElement) {
  fireEvent.click(element);
  await settle();
}

describe('the notes', () => {
  it('are listed with place, verdict, tag and author, as text', async () => {
    await draw(sourceWith(NOTES), { tab: 'notes' });

    const list = screen.getByRole('group', { name: 'Notes' });
    const [first, , last] = within(list).getAllByRole('listitem');

    expect(first?.textContent).toContain('Reads the <b>file</b> again.');
    expect(first?.textContent).toContain('reread');
    expect(first?.textContent).toContain('Ann, 2026-11-30');
    expect(list.querySelector('b')).toBeNull();
    expect(last?.textContent).toContain(
      'Ann, 2026-11-30, changed by Bo 2026-12-01'
    );
    expect(screen.getByRole('tab', { name: 'Notes (3)' })).toBeTruthy();
    expect(within(list).queryByRole('button', { name: 'Change' })).toBeNull();
  });

  it('can be chosen by verdict and tag', async () => {
    await draw(sourceWith(NOTES), { tab: 'notes' });
    const list = screen.getByRole('group', { name: 'Notes' });

    fireEvent.change(within(list).getByLabelText('Which notes'), {
      target: { value: 'tag reread' }
    });

    expect(within(list).getAllByRole('listitem')).toHaveLength(1);
  });

  it('lead to their request', async () => {
    const { onPlace } = await draw(sourceWith(NOTES), { tab: 'notes' });
    const list = screen.getByRole('group', { name: 'Notes' });

    await click(
      within(list).getByRole('button', { name: 'requests 2 to 5 request 2' })
    );

    expect(onPlace.mock.lastCall?.[0].request).toBe(1);
  });

  it('stand at the cursor, also those of a range', async () => {
    await draw(sourceWith(NOTES), { request: 2 });

    const here = screen.getByRole('group', { name: 'Notes here' });

    expect(within(here).getAllByRole('listitem')).toHaveLength(2);
  });

  it('take no room where there is none and none can be written', async () => {
    await draw(sourceWith([]), { request: 2 });

    expect(screen.queryByRole('group', { name: 'Notes here' })).toBeNull();
    expect(screen.queryByRole('tab', { name: 'Notes' })).toBeNull();
  });

  it('are marks on the recorded track', async () => {
    const { container } = await draw(sourceWith(NOTES));

    const marks = container.querySelectorAll(
      '.plm-Track-mark[data-kind="note"]'
    );

    expect(marks).toHaveLength(2);
    expect(marks[0]?.querySelector('title')?.textContent).toBe(
      'Request 3: bad: reread: Reads the <b>file</b> again.·And again.'
    );
  });

  it('are asked for again when the window is entered', async () => {
    const asked = vi.fn();
    const source = sourceWith(NOTES);
    await draw({
      ...source,
      ask: query => {
        if (query.ask === 'notes') {
          asked();
        }
        return source.ask(query);
      }
    });
    const before = asked.mock.calls.length;

    act(() => {
      window.dispatchEvent(new Event('focus'));
    });

    expect(asked.mock.calls.length).toBe(before + 1);
  });
});

describe('the notes on what is hidden', () => {
  const marked = [
    ...NOTES,
    noteView(
      'd',
      'Lost four times.',
      { text: 'the break at request 3', request: 2 },
      { place: { kind: 'break', item: '', request: 3 } }
    )
  ];
  const drawHidden = (
    source: IInspectorSource,
    hidden: readonly InspectorPartName[]
  ) => (
    <HostProvider value={HOST}>
      <Inspector
        source={source}
        place={{ request: 2, item: null }}
        hidden={hidden}
      />
    </HostProvider>
  );
  const noteMarks = (page: HTMLElement) =>
    page.querySelectorAll('[data-kind="note"]').length;

  it('say nothing, by no word and no mark, until it is revealed', async () => {
    const source = sourceWith(marked);
    const page = render(drawHidden(source, ['cost', 'breaks']));
    await settle();

    expect(page.container.textContent).not.toMatch(/Reads the|Lost four|Ann/);
    expect(page.container.textContent).toContain('4 notes are hidden until');
    expect(noteMarks(page.container)).toBe(0);
    await click(screen.getByRole('tab', { name: 'Notes' }));
    expect(page.container.textContent).not.toMatch(/Reads the|Lost four|Ann/);
    expect(page.container.textContent).not.toContain('Nobody wrote');

    page.rerender(drawHidden(source, ['search']));
    await settle();
    expect(screen.getByText('Lost four times.')).toBeTruthy();
    expect(page.container.textContent).toContain('3 notes are hidden until');

    page.rerender(drawHidden(source, []));
    await settle();
    expect(page.container.textContent).toContain('Reads the <b>file</b>');
    expect(page.container.textContent).not.toContain('hidden until');
    await click(screen.getByRole('tab', { name: 'Timeline' }));
    expect(noteMarks(page.container)).toBeGreaterThan(0);
  });

  it('leave the prediction that is written meanwhile', async () => {
    const { source } = writableSource(NOTES);
    render(drawHidden(source, ['cost']));
    await settle();
    await click(screen.getByRole('button', { name: 'Write a note' }));
    const form = screen.getByRole('form', { name: 'A new note' });
    fireEvent.change(within(form).getByLabelText('The note'), {
      target: { value: 'It will cost a dollar.' }
    });
    await click(within(form).getByRole('button', { name: 'Save the note' }));

    const here = screen.getByRole('group', { name: 'Notes here' });
    expect(here.textContent).toContain('It will cost a dollar.');
    expect(here.textContent).toContain('3 notes are hidden until');
    expect(here.textContent).not.toContain('Reads the');
  });
});

describe('a note', () => {
  it('is written on the request at the cursor', async () => {
    const { source, written } = writableSource([]);
    await draw(source, { request: 2 });

    await click(screen.getByRole('button', { name: 'Write a note' }));
    const form = screen.getByRole('form', { name: 'A new note' });
    fireEvent.change(within(form).getByLabelText('The note'), {
      target: { value: 'Too dear.' }
    });
    fireEvent.change(within(form).getByLabelText('verdict'), {
      target: { value: 'bad' }
    });
    fireEvent.change(within(form).getByLabelText('your name'), {
      target: { value: 'Ann' }
    });
    await click(within(form).getByRole('button', { name: 'Save the note' }));

    expect(written).toEqual([
      { request: 3, text: 'Too dear.', verdict: 'bad', tag: '', author: 'Ann' }
    ]);
    expect(screen.queryByRole('form')).toBeNull();
    const here = screen.getByRole('group', { name: 'Notes here' });
    expect(here.textContent).toContain('Too dear.');
  });

  it('is written on a range, on an item, and on the session', async () => {
    const { source, written } = writableSource([]);
    await draw(source, { request: 2, item: 1, tab: 'items' });
    const places = [
      { value: '1', last: '6', place: { request: 3, last: 6 } },
      { value: '0', last: '', place: { item: 2, request: 3 } },
      { value: '2', last: '', place: {} }
    ];
    for (const { value, last } of places) {
      await click(screen.getByRole('button', { name: 'Write a note' }));
      const form = screen.getByRole('form', { name: 'A new note' });
      fireEvent.change(within(form).getByLabelText('on'), {
        target: { value }
      });
      if (last !== '') {
        fireEvent.change(within(form).getByLabelText('to request'), {
          target: { value: last }
        });
      }
      fireEvent.change(within(form).getByLabelText('tag'), {
        target: { value: 'here' }
      });
      await click(within(form).getByRole('button', { name: 'Save the note' }));
    }

    const rest = { text: '', verdict: '', tag: 'here', author: '' };
    expect(written).toEqual(places.map(({ place }) => ({ ...place, ...rest })));
  });

  it('is written on the chosen requests', async () => {
    const { source, written } = writableSource([]);
    await draw(source, { request: 2, range: { first: 0, last: 2 } });

    await click(screen.getByRole('button', { name: 'Write a note' }));
    const form = screen.getByRole('form', { name: 'A new note' });
    expect(within(form).queryByLabelText('to request')).toBeNull();
    fireEvent.change(within(form).getByLabelText('tag'), {
      target: { value: 'slow' }
    });
    await click(within(form).getByRole('button', { name: 'Save the note' }));

    expect(written[0]).toMatchObject({ request: 1, last: 3, tag: 'slow' });
  });

  it('that is refused stays in the form with the reason', async () => {
    const { source } = writableSource([], 'The disk is full.');
    await draw(source, { request: 2 });

    await click(screen.getByRole('button', { name: 'Write a note' }));
    const form = screen.getByRole('form', { name: 'A new note' });
    const text = within(form).getByLabelText<HTMLTextAreaElement>('The note');
    fireEvent.change(text, { target: { value: 'Too dear.' } });
    fireEvent.keyDown(text, { key: 'Enter', ctrlKey: true });
    await settle();

    expect(within(form).getByRole('status').textContent).toBe(
      'The disk is full.'
    );
    expect(text.value).toBe('Too dear.');
  });

  it('without words is not sent', async () => {
    const { source, written } = writableSource([]);
    await draw(source, { request: 2 });

    await click(screen.getByRole('button', { name: 'Write a note' }));
    await click(screen.getByRole('button', { name: 'Save the note' }));

    expect(written).toEqual([]);
  });

  it('is changed, and removed after a second press', async () => {
    const { source, written } = writableSource(NOTES.slice(0, 1));
    await draw(source, { tab: 'notes', request: 0 });
    const list = screen.getByRole('group', { name: 'Notes' });

    await click(within(list).getByRole('button', { name: 'Change' }));
    const form = screen.getByRole('form', { name: 'Change the note' });
    fireEvent.change(within(form).getByLabelText('verdict'), {
      target: { value: 'unsure' }
    });
    await click(within(form).getByRole('button', { name: 'Save the note' }));
    const [remove] = within(list).getAllByRole('button', { name: 'Remove' });
    await click(remove as HTMLElement);
    expect(written).toHaveLength(1);
    await click(within(list).getByRole('button', { name: 'Really remove it' }));

    expect(written[0]).toMatchObject({
      note: 'a',
      verdict: 'unsure',
      tag: 'reread'
    });
    expect(written[1]).toEqual({ note: 'a', remove: true });
  });

  it('is left by Escape without a word', async () => {
    const { source, written } = writableSource([]);
    await draw(source, { request: 2 });

    await click(screen.getByRole('button', { name: 'Write a note' }));
    fireEvent.keyDown(screen.getByLabelText('The note'), { key: 'Escape' });
    await settle();

    expect(screen.queryByRole('form')).toBeNull();
    expect(written).toEqual([]);
  });
});
