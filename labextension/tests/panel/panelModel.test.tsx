// @vitest-environment jsdom
/** The panel's model with a fake kernel: which session it shows, and the kernel's problems. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { act, fireEvent, render, screen } from '@testing-library/react';
import { useSyncExternalStore } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KernelLink } from '../../src/kernel/kernelLink';
import type { LinkRegistry } from '../../src/kernel/linkRegistry';
import type { ITransport } from '../../src/kernel/transport';
import { PanelModel } from '../../src/panel/panelModel';
import type {
  CommandReply,
  Message,
  SessionHead
} from '../../src/protocol/generated';
import {
  KernelStore,
  type KernelNotice
} from '../../src/state/store/kernelStore';
import { ChatPanel } from '../../src/views/chat/chatPanel';
import { HostProvider } from '../../src/views/host';
import * as build from '../builders';
import { HOST } from '../plainHost';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const SIGNAL = { connect: vi.fn(), disconnect: vi.fn() };

function headOf(session: string, more: Partial<SessionHead> = {}): SessionHead {
  return build.sessionHead({ session, title: session, ...more });
}

/** Returns a notebook with a kernel whose agent works on a session; frames are drawn by the test. */
async function open() {
  const asked: Record<string, unknown>[] = [];
  const wire: ITransport = {
    id: 'kernel',
    onNotice: null,
    onEvent: null,
    hasPackage: () => Promise.resolve(true),
    ask: content => {
      asked.push(content);
      const reply: CommandReply = {
        status: 'ok',
        id: String(content.id),
        protocol: 4,
        version: '0.1.0',
        repeated: false,
        session: headOf('ses_1')
      };
      return Promise.resolve(reply);
    },
    dispose: vi.fn()
  };
  const frames: (() => void)[] = [];
  const link = new KernelLink(wire, {
    version: '0.1.0',
    createStore: again => new KernelStore(again, run => frames.push(run))
  });
  const context = {
    session: { kernel: { id: 'kernel', status: 'idle' } },
    isReady: true,
    hasNoKernel: false,
    path: 'a.ipynb',
    ready: Promise.resolve(),
    kernelChanged: SIGNAL,
    statusChanged: SIGNAL,
    sessionChanged: SIGNAL,
    propertyChanged: SIGNAL
  };
  const notebook = {
    id: 'notebook',
    isDisposed: false,
    disposed: SIGNAL,
    sessionContext: context,
    context: {
      isReady: true,
      pathChanged: SIGNAL,
      model: { cells: [], contentChanged: SIGNAL, readOnly: false }
    }
  };
  const tracker = { currentWidget: notebook, currentChanged: SIGNAL };
  const model = new PanelModel(
    {} as unknown as JupyterFrontEnd,
    tracker as unknown as INotebookTracker,
    { get: () => link } as unknown as LinkRegistry,
    HOST.words as unknown as TranslationBundle,
    () => Promise.resolve(true)
  );
  const frame = () => {
    act(() => {
      frames.splice(0).forEach(run => {
        run();
      });
    });
  };
  const tell = (notice: KernelNotice) => {
    wire.onNotice?.(notice);
  };
  const picture = (session: string, ...messages: Message[]) => {
    tell({
      kind: 'session-state',
      session,
      resync: 'again',
      seq: 1,
      head: headOf(session),
      messages,
      todos: [],
      inbox: [],
      replies: {},
      decisions: [],
      last: true
    });
  };
  model.setVisible(true);
  await vi.advanceTimersByTimeAsync(0);
  picture('ses_1', build.user([build.text('Of old.')]));
  frame();
  const { container } = render(<Panel model={model} />);
  return { asked, container, frame, model, picture, tell };
}

function Panel({ model }: { model: PanelModel }) {
  const state = useSyncExternalStore(model.subscribe, model.getSnapshot);
  return (
    <HostProvider value={HOST}>
      <ChatPanel
        state={state}
        actions={model.actions}
        onDismissFailure={model.dismissFailure}
      />
    </HostProvider>
  );
}

const settled = () => act(() => vi.advanceTimersByTimeAsync(0));

it('sends words that follow a cell to the session which that cell began, and shows it first', async () => {
  const { asked, container, frame, model, picture, tell } = await open();
  const field = screen.getByRole('textbox', { name: 'Prompt for the agent' });
  expect(container.textContent).toContain('Of old.');
  fireEvent.change(field, { target: { value: 'And here?' } });

  // A cell with “%agent --new” has ended; no frame has drawn that yet.
  tell({ kind: 'current', session: headOf('ses_2') });
  fireEvent.keyDown(field, { key: 'Enter' });
  const shown: string[] = [];
  const push = asked.push.bind(asked);
  asked.push = (...all) => {
    shown.push(`${String(all[0]?.type)} ${model.getSnapshot().key}`);
    return push(...all);
  };
  await settled();

  expect(asked.find(({ type }) => type === 'prompt')).toMatchObject({
    text: 'And here?',
    session: 'ses_2'
  });
  expect(shown).toContain('prompt notebook ses_2');
  expect(container.textContent).not.toContain('Of old.');
  picture('ses_2', build.user([build.text('Anew.')]));
  frame();
  expect(container.textContent).toContain('Anew.');
});

it('says with the next frame what the kernel complains of, as an alert, until it no longer does', async () => {
  const { frame, tell } = await open();
  const problem = 'The disk does not answer. What is said is not kept.';
  expect(screen.queryByRole('alert')).toBeNull();

  tell({ kind: 'current', session: headOf('ses_1', { problem }) });
  frame();
  expect(screen.getByRole('alert').textContent).toContain(problem);

  tell({ kind: 'current', session: headOf('ses_1') });
  frame();
  expect(screen.queryByRole('alert')).toBeNull();
});

it('takes a complaint of the kernel away when it is dismissed, and says the next one', async () => {
  const { frame, tell } = await open();
  const complain = (problem?: string) => {
    tell({ kind: 'current', session: headOf('ses_1', { problem }) });
    frame();
  };
  complain('The disk does not answer.');
  fireEvent.click(screen.getByRole('button', { name: 'Dismiss' }));
  expect(screen.queryByRole('alert')).toBeNull();

  complain('The disk is full.');
  expect(screen.getByRole('alert').textContent).toContain('full');
  complain();
  complain('The disk does not answer.');
  expect(screen.getByRole('alert').textContent).toContain('not answer');
});
