/** Announces to the kernel that several cells run together, as with Run All: a cell's request does not show it. */
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';

/** Announces each run of several cells of a notebook; returns a function that ends this. */
export function announceRuns(panel: NotebookPanel, link: ILink): () => void {
  let cells = 0;
  const announce = () => {
    if (cells > 1 && link.state === 'ready') {
      void link.command('announce-run', { cells });
    }
    cells = 0;
  };
  const count = (
    _: unknown,
    { notebook }: { notebook: NotebookPanel['content'] }
  ) => {
    if (notebook !== panel.content) {
      return;
    }
    cells += 1;
    if (cells === 1) {
      // All cells of one run are scheduled before the page does anything else.
      setTimeout(announce, 0);
    }
  };
  NotebookActions.executionScheduled.connect(count);
  return () => {
    NotebookActions.executionScheduled.disconnect(count);
  };
}
