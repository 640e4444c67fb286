/** Announces to a kernel that a prompt is likely, so that it imports the model's libraries meanwhile. */
import type { ILink } from './kernelLink';

/** Links whose kernel was told of a likely prompt; a restarted kernel is told again. */
const preparedLinks = new WeakSet<ILink>();

/** Returns whether a kernel is ready and was not told of a likely prompt. */
export function needsPreparation(link: ILink): boolean {
  return link.state === 'ready' && !preparedLinks.has(link);
}

/** Tells the kernel of a likely prompt, once. */
export function prepareModel(link: ILink, session?: string): void {
  if (!needsPreparation(link)) {
    return;
  }
  preparedLinks.add(link);
  const unsubscribe = link.store.subscribe(() => {
    if (link.state !== 'ready') {
      preparedLinks.delete(link);
      unsubscribe();
    }
  });
  void link.command('prepare', { session });
}
