/** Announces to the kernel that several cells run together, as with Run All: a cell's request does not show it. */
import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../kernel/kernelLink';

/** Announces each run of several cells of a notebook; returns a function that ends this. */
export function announceRuns(panel: NotebookPanel, link: ILink): () => void {
  let cellCount = 0;
  const announce = () => {
    if (cellCount > 1 && link.state === 'ready') {
      void link.command('announce-run', { cells: cellCount });
    }
    cellCount = 0;
  };
  const countCell = (
    _: unknown,
    { notebook }: { notebook: NotebookPanel['content'] }
  ) => {
    if (notebook !== panel.content) {
      return;
    }
    cellCount += 1;
    if (cellCount === 1) {
      // All cells of one run are scheduled before the page does anything else.
      setTimeout(announce, 0);
    }
  };
  NotebookActions.executionScheduled.connect(countCell);
  return () => {
    NotebookActions.executionScheduled.disconnect(countCell);
  };
}
