/** The interface of a connection to a kernel: requests, notices and events. */
import type { CommandReply } from '../protocol/generated';
import type { KernelNotice } from '../state/store/kernelStore';

/** `loaded` means that code ended which may have loaded the package. */
export type TransportEvent = 'restarted' | 'dead' | 'ready' | 'loaded';

export interface ITransport {
  /** Id of the kernel. */
  readonly id: string;
  /**
   * Asks whether the kernel has our package, with a request that every kernel knows: an unknown one
   * would be logged as an error by the server.
   */
  hasPackage(): Promise<boolean>;
  /** Sends a command; the promise stays pending as long as the kernel does not answer. */
  ask(content: Record<string, unknown>): Promise<CommandReply>;
  onNotice: ((notice: KernelNotice) => void) | null;
  onEvent: ((event: TransportEvent) => void) | null;
  dispose(): void;
}
