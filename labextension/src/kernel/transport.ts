/**
 * What a link needs of a kernel: a way to ask, and what it hears.
 */
import type { CommandReply } from '../protocol/generated';
import type { KernelNotice } from '../state/store/kernelStore';

/** `loaded` means that code ran which may have loaded the package. */
export type TransportEvent = 'restarted' | 'dead' | 'ready' | 'loaded';

export interface ITransport {
  /** Id of the kernel. */
  readonly id: string;
  /**
   * Asks whether the kernel takes commands of ours, in a request that every kernel knows: one that
   * it does not know would be an error in the server's log.
   */
  knowsUs(): Promise<boolean>;
  /** Sends a command; the promise waits as long as the kernel does not answer. */
  ask(content: Record<string, unknown>): Promise<CommandReply>;
  onNotice: ((notice: KernelNotice) => void) | null;
  onEvent: ((event: TransportEvent) => void) | null;
  dispose(): void;
}
