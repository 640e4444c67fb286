/**
 * Tells the kernel when its notebook is renamed.
 *
 * A kernel learns its notebook's name at its start only, and sessions belong to notebooks by name.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';

/** Follows a notebook's name; returns how to end that. */
export function reportRenames(panel: NotebookPanel, link: ILink): () => void {
  const { context } = panel;
  /** Renames that the kernel has not heard of, in their order. */
  const untold: { was: string; notebook: string }[] = [];
  let was = context.localPath;
  const tell = () => {
    if (link.state === 'ready') {
      for (const names of untold.splice(0)) {
        void link.command('rename', names);
      }
    }
  };
  const renamed = () => {
    const notebook = context.localPath;
    if (notebook !== was) {
      untold.push({ was, notebook });
      was = notebook;
      tell();
    }
  };
  context.pathChanged.connect(renamed);
  const unsubscribe = link.store.subscribe(tell);
  return () => {
    context.pathChanged.disconnect(renamed);
    unsubscribe();
  };
}
