/**
 * Reports a notebook's new path to its kernel.
 *
 * A kernel gets its notebook's path only at its start, and sessions belong to notebooks by path.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';

/** Reports renames of a notebook; returns a function that stops this. */
export function reportRenames(panel: NotebookPanel, link: ILink): () => void {
  const { context } = panel;
  /** Renames that the kernel has not received, in order. */
  const unsent: { was: string; notebook: string }[] = [];
  let pathBefore = context.localPath;
  const sendRenames = () => {
    if (link.state === 'ready') {
      for (const rename of unsent.splice(0)) {
        void link.command('rename', rename);
      }
    }
  };
  const onPathChanged = () => {
    const notebook = context.localPath;
    if (notebook !== pathBefore) {
      unsent.push({ was: pathBefore, notebook });
      pathBefore = notebook;
      sendRenames();
    }
  };
  context.pathChanged.connect(onPathChanged);
  const unsubscribe = link.store.subscribe(sendRenames);
  return () => {
    context.pathChanged.disconnect(onPathChanged);
    unsubscribe();
  };
}
