// @vitest-environment jsdom
/** The panel as a user sees it. */
import {
  act,
  fireEvent,
  render,
  screen,
  waitFor,
  within
} from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Choices, Part } from '../../../src/protocol/generated';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../../../src/state/store/transcript';
import { ChatPanel } from '../../../src/views/chat/chatPanel';
import type { ISessionActions } from '../../../src/views/actions/sessions';
import type { IPanelState } from '../../../src/views/chat/panelState';
import { HostProvider } from '../../../src/views/host';
import * as build from '../../builders';
import { READY } from '../../drawnPanel';
import { panelActions, type MockedActions } from '../../panelActions';
import { HOST } from '../../plainHost';

const CHOICES: Choices = {
  models: [
    { id: 'openai/gpt-5', window: '400,000', because: 'OPENAI_API_KEY is set' },
    { id: 'rehearsal/rehearsal', window: '200,000', because: 'always here' }
  ],
  agents: [
    { name: 'build', description: 'Does the work.' },
    { name: 'plan', description: 'Looks and proposes.' }
  ],
  model: 'rehearsal/rehearsal',
  agent: 'build',
  modes: [
    { name: 'ask', description: 'asks first' },
    { name: 'plan', description: 'looks and proposes' }
  ],
  mode: 'ask',
  untrusted: [],
  commands: [],
  skills: [],
  subagents: []
};

const waitingPrompt = {
  type: 'prompt.admitted' as const,
  prompt_id: 'p1',
  text: 'Then this.',
  delivery: 'queue' as const,
  options: { agent: 'plan' }
};

/** Returns the actions of a panel whose kernel offers models. */
function doing(): MockedActions {
  const actions = panelActions();
  actions.prompts.choices.mockResolvedValue(CHOICES);
  return actions;
}

function draw(state: Partial<IPanelState>, actions = doing()) {
  const dismiss = vi.fn();
  const page = (now: Partial<IPanelState>) => (
    <HostProvider value={HOST}>
      <ChatPanel
        state={{ ...READY, ...now }}
        actions={actions}
        onDismissFailure={dismiss}
      />
    </HostProvider>
  );
  const { rerender } = render(page(state));
  const redraw = (now: Partial<IPanelState>) => {
    rerender(page(now));
  };
  return { actions, dismiss, redraw };
}

const busy = (more: Partial<ITranscript> = {}): ITranscript => ({
  ...EMPTY_TRANSCRIPT,
  status: { type: 'busy' },
  ...more
});

/** Returns a transcript with a failed turn. */
function failed(error: object): ITranscript {
  const message = build.assistant([]);
  Object.assign(message.info, { error: { message: 'No.', ...error } });
  const prompt = build.user([build.text('Hello?')]);
  const entries = [prompt, message].map(value => ({
    id: value.info.id,
    message: value
  }));
  return { ...EMPTY_TRANSCRIPT, entries };
}

const field = () =>
  screen.getByRole<HTMLTextAreaElement>('textbox', {
    name: 'Prompt for the agent'
  });

describe('the panel', () => {
  it('says what it is and how to begin', () => {
    draw({});

    expect(screen.getByText(/begin a cell with %%agent/)).toBeTruthy();
  });

  it('does not say how to begin while a chosen session is on its way', () => {
    const { redraw } = draw({ loading: true });
    expect(screen.queryByText(/begin a cell with/)).toBeNull();
    field().focus();

    redraw({ loading: false });

    expect(screen.getByText(/begin a cell with/)).toBeTruthy();
    expect(document.activeElement).toBe(field());
  });

  it('loads the package only on a click', () => {
    const { actions } = draw({ status: 'absent' });
    expect(actions.kernel.load).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole('button', { name: 'Load it' }));

    expect(actions.kernel.load).toHaveBeenCalledOnce();
    expect(
      screen.getByText(/not loaded in the kernel of a.ipynb/)
    ).toBeTruthy();
  });

  it('restarts a kernel that has died only on a click', () => {
    const { actions } = draw({ status: 'dead' });
    expect(actions.kernel.restart).not.toHaveBeenCalled();
    expect(screen.getByText(/The kernel of a.ipynb has died/)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Restart the kernel' }));

    expect(actions.kernel.restart).toHaveBeenCalledOnce();
  });

  it('gives the keyboard to the text field when the package was loaded', () => {
    const { redraw } = draw({ status: 'absent' });
    screen.getByRole('button', { name: 'Load it' }).focus();
    redraw({ status: 'ready' });

    expect(document.activeElement).toBe(field());
  });

  it('leaves the keyboard to what took it after a blur that named nobody', () => {
    const palette = document.createElement('input');
    document.body.append(palette);
    const { redraw } = draw({});
    field().focus();
    field().blur();
    palette.focus();
    palette.remove();
    redraw({ failure: 'The kernel restarted.' });

    expect(document.activeElement).toBe(document.body);
  });

  it('tells where a prompt was written', () => {
    const message = build.user([build.text('How many?')]);
    if (message.info.role === 'user') {
      message.info.origin = { kind: 'cell', execution_count: 3 };
    }
    const entries = [{ id: message.info.id, message }];
    draw({ transcript: { ...EMPTY_TRANSCRIPT, entries } });

    expect(screen.getByText(/cell \[3\]/)).toBeTruthy();
    expect(screen.getByText('How many?')).toBeTruthy();
  });

  it('stops a turn that runs', () => {
    const { actions } = draw({ transcript: busy() });
    fireEvent.click(screen.getByRole('button', { name: /Stop/ }));

    expect(actions.turn.stop).toHaveBeenCalledOnce();
  });

  it('answers a question by a key from anywhere but a text field', () => {
    const ask = {
      id: 'per_1',
      permission: 'write',
      patterns: [],
      always: [],
      title: 'Write a.csv?',
      input: {}
    };
    const { actions } = draw({ transcript: busy({ asks: [ask] }) });
    fireEvent.keyDown(field(), { key: '1' });
    expect(actions.answers.reply).not.toHaveBeenCalled();
    fireEvent.keyDown(screen.getByRole('region', { name: 'Transcript' }), {
      key: '1'
    });

    expect(actions.answers.reply).toHaveBeenCalledWith(
      'per_1',
      'once',
      undefined
    );
  });

  it('takes a waiting prompt back, or sends it now', () => {
    const { actions } = draw({ transcript: busy({ inbox: [waitingPrompt] }) });
    fireEvent.click(screen.getByRole('button', { name: /1 waiting/ }));
    const waiting = within(screen.getByRole('group', { name: /Waiting/ }));
    fireEvent.click(waiting.getByRole('button', { name: 'withdraw' }));
    fireEvent.click(waiting.getByRole('button', { name: 'send now' }));

    expect(actions.prompts.withdraw).toHaveBeenCalledWith('p1');
    expect(actions.prompts.sendNow).toHaveBeenCalledWith(waitingPrompt);
  });

  it('gives a waiting prompt back to edit, before what is written already', async () => {
    const { actions } = draw({ transcript: busy({ inbox: [waitingPrompt] }) });
    fireEvent.change(field(), { target: { value: 'a draft' } });
    fireEvent.click(screen.getByRole('button', { name: /1 waiting/ }));
    fireEvent.click(screen.getByRole('button', { name: 'edit' }));
    await act(() => Promise.resolve());

    expect(actions.prompts.withdraw).toHaveBeenCalledWith('p1');
    expect(field().value).toBe('Then this.\n\na draft');
    expect(document.activeElement).toBe(field());
    fireEvent.keyDown(field(), { key: 'Enter' });
    expect(actions.prompts.send).toHaveBeenCalledWith('Then this.\n\na draft', {
      agent: 'plan'
    });
  });

  it('gives a waiting prompt back with its files, and each can be left out', async () => {
    const files = ['plot.png', 'scan.pdf'].map(filename => ({
      mime: 'image/png',
      filename,
      url: `blob:${'a'.repeat(64)}`
    }));
    const options = { files, variant: 'high', tools: { bash: false } };
    const prompt = { ...waitingPrompt, options };
    const { actions, redraw } = draw({ transcript: busy({ inbox: [prompt] }) });
    fireEvent.click(screen.getByRole('button', { name: /1 waiting/ }));
    const waiting = screen.getByRole('group', { name: /Waiting/ });
    expect(waiting.textContent).toContain('plot.pngscan.pdf');
    fireEvent.click(screen.getByRole('button', { name: 'edit' }));
    await act(() => Promise.resolve());
    redraw({ transcript: busy() });

    const along = screen.getByRole('list', { name: 'Files that go along' });
    expect(along.textContent).toBe('plot.png×scan.pdf×');
    fireEvent.click(screen.getByRole('button', { name: 'Remove scan.pdf' }));
    expect(document.activeElement).toBe(field());
    fireEvent.keyDown(field(), { key: 'Enter' });
    expect(actions.prompts.send).toHaveBeenCalledWith('Then this.', {
      ...options,
      files: files.slice(0, 1)
    });
    expect(screen.queryByRole('list', { name: /Files/ })).toBeNull();
  });

  it('leaves a prompt that was delivered meanwhile where it is', async () => {
    const late = doing();
    late.prompts.withdraw.mockResolvedValue(false);
    draw({ transcript: busy({ inbox: [waitingPrompt] }) }, late);
    fireEvent.click(screen.getByRole('button', { name: /1 waiting/ }));
    fireEvent.click(screen.getByRole('button', { name: 'edit' }));
    await act(() => Promise.resolve());

    expect(field().value).toBe('');
  });

  it('shows all prompts that wait as one line, and lists them in the order of sending', () => {
    const inbox = Array.from({ length: 270 }, (_, index) => ({
      ...waitingPrompt,
      prompt_id: `p${index}`,
      text: `Prompt ${index}.`,
      delivery: index === 200 ? ('steer' as const) : ('queue' as const)
    }));
    draw({ transcript: busy({ inbox }) });
    expect(screen.queryAllByRole('group', { name: /Waiting/ })).toEqual([]);
    const strip = screen.getByRole('button', { name: /270 waiting/ });
    expect(strip.textContent).toContain('Prompt 200.');
    fireEvent.click(strip);

    const listed = screen.getAllByRole('group', { name: /Waiting/ });
    expect(listed).toHaveLength(270);
    expect(listed.slice(0, 3).map(element => element.textContent)).toEqual([
      expect.stringContaining('Prompt 200.goes with the next request'),
      expect.stringContaining('Prompt 0.edit'),
      expect.stringContaining('Prompt 1.edit')
    ]);
  });

  it('puts what a stop withdrew before the draft, once, and leaves prompts of cells in their cells', () => {
    const stopped = ['First.', 'Of a cell.', 'Second.'].map((text, index) => ({
      ...waitingPrompt,
      prompt_id: `p${index}`,
      text,
      origin: { kind: index === 1 ? ('cell' as const) : ('panel' as const) }
    }));
    const { redraw } = draw({ transcript: busy({ inbox: stopped }) });
    fireEvent.change(field(), { target: { value: 'a draft' } });
    redraw({ transcript: { ...EMPTY_TRANSCRIPT, stopped } });
    redraw({ transcript: { ...EMPTY_TRANSCRIPT, stopped: [...stopped] } });

    expect(field().value).toBe('First.\n\nSecond.\n\na draft');
  });

  it.each([
    ['an error that may pass', { type: 'api', retryable: true }, true],
    ['an answer without a word', { type: 'unknown' }, true],
    ['a missing key', { type: 'auth', provider: 'openai' }, false],
    ['a request without sense', { type: 'api', retryable: false }, false],
    ['a full window', { type: 'context-overflow' }, false],
    ['a stopped turn', { type: 'aborted' }, false]
  ] as const)('offers to try again after %s: %s', (_name, error, offered) => {
    const { actions, redraw } = draw({ transcript: failed(error) });
    const buttons = screen.queryAllByRole('button', { name: 'Retry' });
    expect(buttons.length).toBe(offered ? 1 : 0);
    buttons.forEach(button => {
      fireEvent.click(button);
    });
    expect(actions.turn.retry).toHaveBeenCalledTimes(offered ? 1 : 0);
    redraw({ transcript: { ...failed(error), status: { type: 'busy' } } });

    expect(screen.queryByRole('button', { name: 'Retry' })).toBeNull();
  });

  it('says what hindered the retry, and lets it be tried again', async () => {
    const no = doing();
    no.turn.retry.mockResolvedValue('It works already.');
    draw({ transcript: failed({ type: 'unknown' }) }, no);
    fireEvent.click(screen.getByRole('button', { name: 'Retry' }));
    await screen.findByText('It works already.');

    const button = screen.getByRole<HTMLButtonElement>('button', {
      name: 'Retry'
    });
    expect(button.disabled).toBe(false);
  });

  it('tells what fills the window, by kind', () => {
    const contextFill = {
      tokens: 500,
      kinds: { system: 100, tools: 150, user: 50, output: 200 },
      window: 10_000,
      reserve: 2_000,
      message_id: 'msg_1'
    };
    const message = build.assistant([
      build.step({ context_tokens: 1_000, window: 10_000 })
    ]);
    const entries = [{ id: 'msg_1', message }];
    draw({ transcript: { ...EMPTY_TRANSCRIPT, contextFill, entries } });
    fireEvent.click(screen.getByRole('button', { name: /1k of 10k tokens/ }));

    const rows = screen.getAllByRole('row').map(row => row.textContent);
    expect(rows).toEqual([
      'System prompt2002.0 %',
      'Tool descriptions3003.0 %',
      'You1001.0 %',
      'Tool outputs4004.0 %',
      'Kept for the answer2,00020 %',
      'Free7,00070 %'
    ]);
    fireEvent.keyDown(screen.getByRole('table'), { key: 'Escape' });
    expect(screen.queryByRole('table')).toBeNull();
  });

  it('says what the number after a compaction counts: more than the summary', () => {
    const asked = build.assistant([
      build.step({ context_tokens: 33_500, window: 40_000 })
    ]);
    const summary = build.assistant([build.text('We plotted it.')], {
      summary: true
    });
    const words = 'The conversation takes 6,322 tokens instead of 33,029.';
    const decisions = [
      {
        id: 'dec_1',
        action: 'summarise' as const,
        rule: 'compact',
        message_id: summary.info.id,
        numbers: {},
        tokens_before: 33_029,
        tokens_after: 6_322,
        words
      }
    ];
    const entries = [asked, summary].map(message => ({
      id: message.info.id,
      message
    }));
    draw({ transcript: { ...EMPTY_TRANSCRIPT, entries, decisions } });

    fireEvent.click(screen.getByRole('button', { name: /show the summary/ }));
    expect(screen.getByText(words)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: /of 40k tokens/ }));
    expect(screen.getByRole('table').textContent).toMatch(
      /^Tokens of the next request .*: system prompt, tools, the summary, and the messages that stay/
    );
  });

  it('tells tokens alone where the model has no limit', () => {
    const contextFill = {
      tokens: 500,
      kinds: { system: 100, output: 400 },
      window: 0,
      reserve: 0,
      message_id: 'msg_1'
    };
    const message = build.assistant([
      build.step({ context_tokens: 46_000, window: 0 })
    ]);
    const entries = [{ id: 'msg_1', message }];
    draw({ transcript: { ...EMPTY_TRANSCRIPT, contextFill, entries } });
    const button = screen.getByRole('button', {
      name: /Context: 46k tokens, no limit/
    });
    fireEvent.click(button);

    expect(button.textContent).toMatch(/^46k tokens ·/);
    expect(document.querySelector('.plm-Gauge-bar')).toBeNull();
    const rows = screen.getAllByRole('row').map(row => row.textContent);
    expect(rows).toEqual(['System prompt9,200', 'Tool outputs36,800']);
  });

  it('says what went wrong until it is dismissed', () => {
    const { dismiss } = draw({ failure: 'The kernel does not answer.' });
    expect(screen.getByRole('alert').textContent).toContain('does not answer');
    fireEvent.click(screen.getByRole('button', { name: 'Dismiss' }));

    expect(dismiss).toHaveBeenCalledOnce();
  });

  it('lists sessions and opens another', async () => {
    const rows = ['s1', 's2'].map(id => ({
      id,
      title: `Title ${id}`,
      created: 0,
      updated: 0,
      messages: 2,
      deleted: false,
      shared: false,
      imported_from: '',
      about: ''
    }));
    const actions = doing();
    actions.sessions.list.mockResolvedValue({ rows, total: 2 });
    draw({}, actions);
    const choose = screen.getByTitle('Sessions');
    fireEvent.click(choose);
    fireEvent.click(await screen.findByText('Title s2'));

    expect(actions.opener.open).toHaveBeenCalledWith('s2');
    expect(document.activeElement).toBe(field());
  });
});

describe('the list of sessions', () => {
  const ROWS = ['s1', 's2'].map(id => ({
    id,
    title: `Title ${id}`,
    created: 0,
    updated: 0,
    messages: 2,
    deleted: false,
    shared: false,
    imported_from: '',
    about: ''
  }));

  async function listed(
    list = vi.fn<ISessionActions['list']>(() =>
      Promise.resolve({ rows: ROWS, total: 2 })
    )
  ) {
    const actions = doing();
    actions.sessions.list = list;
    draw({}, actions);
    fireEvent.click(screen.getByTitle('Sessions'));
    await screen.findByText('Title s1');
    return { actions, list };
  }

  function unfold(title: string): HTMLElement {
    const more = screen.getByRole('button', {
      name: `What to do with ${title}`
    });
    fireEvent.click(more);
    return more;
  }

  it('says what a session is about where that was noted', async () => {
    const rows = ROWS.map((row, at) =>
      at === 0 ? { ...row, about: 'The penguins were counted.' } : row
    );
    await listed(vi.fn(() => Promise.resolve({ rows, total: 2 })));

    const [noted, plain] = ['Title s1', 'Title s2'].map(title =>
      screen.getByTitle(title)
    );
    expect(noted?.textContent).toContain('The penguins were counted.');
    expect(noted?.querySelectorAll('span')).toHaveLength(3);
    expect(plain?.querySelectorAll('span')).toHaveLength(2);
  });

  it('is searched while a person writes, and says how many were found', async () => {
    const { list } = await listed();
    expect(screen.getByText('2 sessions')).toBeTruthy();
    fireEvent.change(screen.getByRole('searchbox'), {
      target: { value: 'penguins' }
    });
    await waitFor(() => {
      expect(list).toHaveBeenLastCalledWith({
        words: 'penguins',
        archived: false
      });
    });
    fireEvent.click(screen.getByRole('checkbox', { name: 'Archived' }));
    await waitFor(() => {
      expect(list).toHaveBeenLastCalledWith({
        words: 'penguins',
        archived: true
      });
    });
  });

  it('shows the next page below the first', async () => {
    const more = vi
      .fn<ISessionActions['list']>()
      .mockResolvedValueOnce({
        rows: ROWS.slice(0, 1),
        total: 2,
        cursor: 'next'
      })
      .mockResolvedValueOnce({ rows: ROWS.slice(1), total: 2 });
    await listed(more);
    fireEvent.click(screen.getByRole('button', { name: 'Show more' }));

    expect(await screen.findByText('Title s2')).toBeTruthy();
    expect(screen.getByText('Title s1')).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
  });

  it('renames with the keyboard, and the list is asked for anew', async () => {
    const { actions, list } = await listed();
    const more = unfold('Title s1');
    fireEvent.click(screen.getByRole('button', { name: 'Rename' }));
    const field = screen.getByRole('textbox', { name: 'New title' });
    fireEvent.change(field, { target: { value: ' Mine ' } });
    fireEvent.submit(field);

    expect(actions.sessions.rename).toHaveBeenCalledWith('s1', 'Mine');
    expect(document.activeElement).toBe(more);
    await waitFor(() => {
      expect(list).toHaveBeenCalledTimes(2);
    });
  });

  it('deletes only after a second press, which begins on keeping it', async () => {
    const { actions } = await listed();
    unfold('Title s2');
    fireEvent.click(screen.getByRole('button', { name: 'Delete' }));
    const keep = screen.getByRole('button', { name: 'Keep it' });
    expect(document.activeElement).toBe(keep);
    expect(actions.sessions.delete).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole('button', { name: 'Delete for good' }));

    expect(actions.sessions.delete).toHaveBeenCalledWith('s2');
  });

  it('puts away and forks', async () => {
    const { actions } = await listed();
    unfold('Title s1');
    fireEvent.click(screen.getByRole('button', { name: 'Archive' }));
    expect(actions.sessions.archive).toHaveBeenCalledWith('s1', true);
    unfold('Title s1');
    fireEvent.click(screen.getByRole('button', { name: 'Fork' }));
    expect(actions.sessions.fork).toHaveBeenCalledWith('s1');
  });
});

describe('what will answer', () => {
  it('is named by the session, and chosen for the next prompt', async () => {
    const { actions } = draw({});
    const chip = await screen.findByRole('button', { name: 'Agent: build' });
    fireEvent.click(chip);
    fireEvent.click(screen.getByText('plan'));
    expect(document.activeElement).toBe(chip);
    fireEvent.click(screen.getByRole('button', { name: /^Model/ }));
    fireEvent.change(screen.getByRole('textbox', { name: /Find or write/ }), {
      target: { value: 'GPT' }
    });
    fireEvent.click(screen.getByText('openai/gpt-5'));
    fireEvent.change(field(), { target: { value: 'Plot it.' } });
    fireEvent.keyDown(field(), { key: 'Enter' });

    expect(actions.prompts.send).toHaveBeenCalledWith('Plot it.', {
      agent: 'plan',
      model: 'openai/gpt-5'
    });
  });

  it('says of a model without a limit that it has none', async () => {
    CHOICES.models.push({
      id: 'local/free',
      window: 'no limit',
      because: 'configured'
    });
    draw({});
    fireEvent.click(await screen.findByRole('button', { name: /^Model/ }));

    expect(screen.getByText('no limit · configured')).toBeDefined();
    expect(
      screen.getByText('400,000 tokens · OPENAI_API_KEY is set')
    ).toBeDefined();
  });

  it('may be a model that is in no list', async () => {
    const { actions } = draw({});
    fireEvent.click(await screen.findByRole('button', { name: /^Model/ }));
    const find = screen.getByRole('textbox', { name: /Find or write/ });
    fireEvent.change(find, { target: { value: 'groq/llama' } });
    fireEvent.keyDown(find, { key: 'Enter' });
    fireEvent.change(field(), { target: { value: 'Hello' } });
    fireEvent.keyDown(field(), { key: 'Enter' });

    expect(actions.prompts.send).toHaveBeenCalledWith('Hello', {
      model: 'groq/llama'
    });
  });

  it('is closed by Escape', async () => {
    draw({});
    const chip = await screen.findByRole('button', { name: /^Agent/ });
    fireEvent.click(chip);
    fireEvent.keyDown(screen.getByText('plan'), { key: 'Escape' });

    expect(screen.queryByText('plan')).toBeNull();
    expect(document.activeElement).toBe(chip);
  });
});

describe('the text field', () => {
  it('sends by Enter and begins a line by Shift+Enter', () => {
    const { actions } = draw({});
    fireEvent.change(field(), { target: { value: ' Plot it. ' } });
    fireEvent.keyDown(field(), { key: 'Enter', shiftKey: true });
    expect(actions.prompts.send).not.toHaveBeenCalled();
    fireEvent.keyDown(field(), { key: 'Enter' });

    expect(actions.prompts.send).toHaveBeenCalledWith('Plot it.', {});
    expect(field().value).toBe('');
  });

  it('sends by Ctrl+Enter where a person chose so', () => {
    const { actions } = draw({ sendKey: 'Accel Enter' });
    fireEvent.change(field(), { target: { value: 'Plot it.' } });
    fireEvent.keyDown(field(), { key: 'Enter' });
    expect(actions.prompts.send).not.toHaveBeenCalled();
    fireEvent.keyDown(field(), { key: 'Enter', ctrlKey: true });

    expect(actions.prompts.send).toHaveBeenCalledOnce();
  });

  it('sends nothing while words are being composed', () => {
    const { actions } = draw({});
    fireEvent.change(field(), { target: { value: 'に' } });
    fireEvent.keyDown(field(), { key: 'Enter', isComposing: true });

    expect(actions.prompts.send).not.toHaveBeenCalled();
  });

  it('gives the words back when they were not taken', async () => {
    const refused = vi.fn(() => Promise.reject(new Error('No.')));
    const actions = doing();
    actions.prompts.send = refused;
    draw({}, actions);
    fireEvent.change(field(), { target: { value: 'Plot it.' } });
    await act(async () => {
      fireEvent.keyDown(field(), { key: 'Enter' });
      await Promise.resolve();
    });

    expect(field().value).toBe('Plot it.');
  });

  it('keeps a draft where it was written', () => {
    const { redraw } = draw({ key: 'a' });
    fireEvent.change(field(), { target: { value: 'a draft' } });
    redraw({ key: 'b' });
    expect(field().value).toBe('');
    redraw({ key: 'a' });

    expect(field().value).toBe('a draft');
  });

  it('is left by Escape, and cannot be used for another kernel’s session', () => {
    const { actions, redraw } = draw({});
    fireEvent.keyDown(field(), { key: 'Escape' });
    expect(actions.notebook.focus).toHaveBeenCalledOnce();
    redraw({ readOnly: true });

    expect(field().readOnly).toBe(true);
    expect(screen.getByText(/Another kernel writes/)).toBeTruthy();
  });

  it('cannot be used for a subagent’s session, and a button leads back', () => {
    const session = { id: 'ses_2', parent_id: 'ses_1' } as never;
    const { actions } = draw({
      readOnly: true,
      transcript: { ...EMPTY_TRANSCRIPT, session }
    });
    expect(screen.getByText(/it is here to read/)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Back' }));

    expect(actions.opener.open).toHaveBeenCalledWith('ses_1');
  });

  it('folds a prompt of hundreds of words, and keeps all of it in the page', () => {
    const words = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ');
    const prompt = build.user([build.text(words)]);
    const entries = [{ id: prompt.info.id, message: prompt }];
    draw({ transcript: { ...EMPTY_TRANSCRIPT, entries } });
    const said = screen.getByText(/word399$/);

    expect(said.dataset.folded).toBe('true');
    expect(said.dir).toBe('auto');

    fireEvent.click(screen.getByRole('button', { name: 'Show all 400 words' }));

    expect(said.dataset.folded).toBe('false');
  });

  it('reads what a session says aloud, and nothing of the one before', async () => {
    const of = (id: string, ...parts: Part[]): ITranscript => {
      const message = build.assistant(parts);
      return {
        ...busy(),
        session: { id } as unknown as ITranscript['session'],
        entries: [{ id: message.info.id, message }]
      };
    };
    const call = build.tool('write', {
      status: 'error',
      input: {},
      error: 'No.',
      metadata: {},
      time: { start: 0, end: 1 }
    });
    const { redraw } = draw({ transcript: of('ses_1') });
    const log = screen.getByRole('log');
    await act(() => new Promise(done => setTimeout(done)));
    redraw({ transcript: of('ses_1', call, build.text('Of the first. ')) });
    await within(log).findByText(/Of the first/);

    expect(log.textContent).toContain('write failed: No. ');

    redraw({ transcript: of('ses_2', build.text('Of the second. ')) });

    expect(log.textContent).toBe('');
  });
});
