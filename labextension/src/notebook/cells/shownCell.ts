/** Finds a cell of a notebook, and brings it into view. */
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';

/** Returns the cell with an id; undefined where the notebook does not hold it. */
export function cellOf(
  { content }: Pick<NotebookPanel, 'content'>,
  id: string | undefined
): Cell | undefined {
  return content.widgets.find(({ model }) => model.id === id);
}

/** Scrolls to a cell and selects it; nothing where the notebook does not hold it. */
export function showCell(panel: NotebookPanel, id: string): void {
  const index = panel.content.widgets.findIndex(({ model }) => model.id === id);
  if (index >= 0) {
    showCellAt(panel, index);
  }
}

/** Scrolls to the cell at a place and selects it. */
export function showCellAt({ content }: NotebookPanel, index: number): void {
  content.deselectAll();
  content.activeCellIndex = index;
  void content.scrollToItem(index, 'smart');
}
