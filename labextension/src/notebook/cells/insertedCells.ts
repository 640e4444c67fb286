/** Inserts the cells that the kernel asks for, as ``answer.to_cells()`` does. Nothing is run. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../../kernel/kernelLink';
import type { InsertCellsNotice } from '../../protocol/generated';

/** Lets the kernel insert cells into a notebook; returns a function that ends this. */
export function insertRequestedCells(
  panel: NotebookPanel,
  link: ILink
): () => void {
  const insert = ({ sources, below }: InsertCellsNotice) => {
    const { content, context } = panel;
    if (panel.isDisposed || context.model.readOnly) {
      return;
    }
    const at = content.widgets.findIndex(({ model }) => model.id === below);
    const first = (at < 0 ? content.activeCellIndex : at) + 1;
    context.model.sharedModel.insertCells(
      first,
      sources.map(source => ({
        cell_type: 'code',
        source,
        metadata: { trusted: true },
        outputs: []
      }))
    );
  };
  link.onInsertCells = insert;
  return () => {
    if (link.onInsertCells === insert) {
      link.onInsertCells = null;
    }
  };
}
