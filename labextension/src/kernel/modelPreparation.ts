/**
 * Tells a kernel that a person is about to ask the agent, so that it imports what the model needs meanwhile.
 */
import type { ILink } from './kernelLink';

/** Kernels that were told; one that is restarted is told again. */
const told = new WeakSet<ILink>();

/** Returns whether a kernel could be told, and was not. */
export function wantsPreparation(link: ILink): boolean {
  return link.state === 'ready' && !told.has(link);
}

/** Tells the kernel, once. */
export function prepareModel(link: ILink, session?: string): void {
  if (!wantsPreparation(link)) {
    return;
  }
  told.add(link);
  const forget = link.store.subscribe(() => {
    if (link.state !== 'ready') {
      told.delete(link);
      forget();
    }
  });
  void link.command('prepare', { session });
}
