// @vitest-environment jsdom
/** The kernel that reads one recorded file: asked again where it died while it started. */
import type { ServiceManager, Session } from '@jupyterlab/services';
import { describe, expect, it, vi } from 'vitest';
import { RecordingKernel } from '../../src/inspector/kernels/recordingKernel';
import type { LinkRegistry } from '../../src/kernel/linkRegistry';
import type { IWords } from '../../src/views/host';

const CANCELED = new Error('Canceled future for execute_request message');
const LOADED = { content: { status: 'ok', user_expressions: {} } };
const words = {
  __: (text: string, ...values: unknown[]) =>
    text.replace(/%(\d)/g, (_, at: string) => String(values[Number(at) - 1]))
} as unknown as IWords;
const signal = () => ({ connect: vi.fn(), disconnect: vi.fn() });

/** A kernel whose replies are these, one after the other. */
function recording(status: string, ...replies: (object | Error)[]) {
  const asked = vi.fn(() => {
    const reply = replies.shift() ?? CANCELED;
    return {
      done:
        reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply)
    };
  });
  const kernel = { id: 'k', status, isDisposed: false, requestExecute: asked };
  const session = {
    kernel,
    statusChanged: signal(),
    isDisposed: false,
    shutdown: vi.fn(() => Promise.resolve())
  };
  const started = vi
    .fn<(options: Session.ISessionOptions) => Promise<typeof session>>()
    .mockResolvedValue(session);
  const services = {
    ready: Promise.resolve(),
    kernelspecs: { specs: null },
    contents: {
      fileChanged: signal(),
      get: () => Promise.reject(new Error('not here'))
    },
    sessions: { startNew: started }
  };
  const nothing = () => undefined;
  const link = {
    watch: () => nothing,
    store: { subscribe: () => nothing },
    retry: vi.fn(),
    state: 'ready'
  };
  const links = { join: () => link, leave: nothing };
  const made = new RecordingKernel(
    services as unknown as ServiceManager.IManager,
    links as unknown as LinkRegistry,
    words,
    'recordings/pi.jsonl'
  );
  return { made, asked, link, started };
}

/** A passing test does not wait for it. */
const LAST_RESORT = { timeout: 120_000 };

describe('the kernel of a recorded file', () => {
  it('is in a session by whose name the server knows it', async () => {
    const { made, started } = recording('idle', LOADED);
    await vi.waitFor(() => {
      expect(started).toHaveBeenCalled();
    }, LAST_RESORT);

    // As in tests/servers/test_server_extension.py.
    const options = started.mock.calls[0]?.[0];
    expect(options).toMatchObject({ name: 'pi.jsonl', type: 'file' });
    expect(options?.path).toMatch(/^recordings\/pi\.jsonl-inspector-\d+$/);
    made.dispose();
  });

  it('is asked again where it died while it started, and was restarted', async () => {
    const { made, asked, link } = recording('restarting', CANCELED, LOADED);
    await vi.waitFor(() => {
      expect(link.retry).toHaveBeenCalled();
    }, LAST_RESORT);

    expect(asked).toHaveBeenCalledTimes(2);
    expect(made.failure).toBe('');
    expect(made.state).toBe('ready');
    made.dispose();
  });

  it.each([
    ['dead', 1],
    ['restarting', 2]
  ])(
    'is told to have failed where it is %s and answers nothing',
    async (status, times) => {
      const { made, asked } = recording(status, CANCELED, CANCELED);
      await vi.waitFor(() => {
        expect(made.state).toBe('failed');
      }, LAST_RESORT);

      expect(asked).toHaveBeenCalledTimes(times);
      expect(made.failure).toContain('No kernel could be started');
      made.dispose();
    }
  );
});
