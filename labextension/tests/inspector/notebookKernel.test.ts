/** The kernel of a notebook says why it could not load the package, until another kernel comes. */
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';
import { NotebookKernel } from '../../src/inspector/kernels/notebookKernel';
import { WORDS } from '../../src/widget/hostParts';

const ERROR = {
  status: 'error',
  ename: 'ModuleNotFoundError',
  evalue: 'No module named palimpsest'
};

function notebook(reply: unknown) {
  const sender = {};
  const requestExecute = vi.fn(() => ({
    done: Promise.resolve({ content: reply })
  }));
  const session = { kernel: { id: 'one', status: 'idle', requestExecute } };
  const sessionContext = {
    hasNoKernel: false,
    isReady: true,
    ready: Promise.resolve(),
    session,
    kernelChanged: new Signal(sender),
    statusChanged: new Signal(sender)
  };
  const panel = {
    context: { path: 'a.ipynb', pathChanged: new Signal(sender) },
    content: { model: { cells: [] } },
    disposed: new Signal(sender),
    isDisposed: false,
    sessionContext
  };
  const retry = vi.fn();
  const end = () => undefined;
  const link = {
    state: 'absent',
    watch: () => end,
    store: { subscribe: () => end },
    retry
  };
  const tracker = {
    widgetAdded: new Signal(sender),
    find: (isIt: (value: unknown) => boolean) =>
      isIt(panel) ? panel : undefined
  };
  const contents = { fileChanged: new Signal(sender) };
  const kernel = new NotebookKernel(
    { serviceManager: { contents } } as never,
    tracker as never,
    { get: () => link } as never,
    WORDS,
    'a.ipynb'
  );
  return { kernel, session, retry, requestExecute };
}

it('says why it could not be loaded, and takes another try', async () => {
  const { kernel, session, retry, requestExecute } = notebook(ERROR);
  expect(kernel.state).toBe('absent');

  kernel.applyRemedy();
  await vi.waitFor(() => {
    expect(kernel.state).toBe('failed');
  });

  expect(kernel.failure).toContain(
    'ModuleNotFoundError: No module named palimpsest'
  );
  expect(kernel.failure).toContain('pip install jupyter-palimpsest');
  expect(retry).toHaveBeenCalled();
  kernel.applyRemedy();
  expect(kernel.state).toBe('absent');
  await vi.waitFor(() => {
    expect(kernel.state).toBe('failed');
  });
  expect(requestExecute).toHaveBeenCalledTimes(2);
  session.kernel.id = 'another';
  expect(kernel.state).toBe('absent');
});

it('asks the kernel again once it is loaded', async () => {
  const { kernel, retry } = notebook({ status: 'ok' });
  kernel.applyRemedy();
  await vi.waitFor(() => {
    expect(retry).toHaveBeenCalled();
  });

  expect(kernel.state).toBe('absent');
});
