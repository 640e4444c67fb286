/** Keeps what a reader does in a notebook while its cells are changed around it: cursor, selection, place, keyboard. */
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { cellOf } from './shownCell';

/** What a cell of a certain kind has beyond a cell. */
interface ICellParts {
  rendered?: boolean;
  headingCollapsed?: boolean;
  outputArea?: {
    future?: unknown;
    /** Since JupyterLab 4.6. */
    detachFuture?: () => unknown;
    reattachFuture?: (future: unknown) => void;
  };
}

type KeptCell = Cell & ICellParts;

/** Returns how bad it is to make a cell again where another one could move instead, by the cell's index. */
export function readerWeight({
  content
}: NotebookPanel): (index: number) => number {
  return index => {
    const cell = content.widgets[index];
    if (cell?.model.type === 'code' && isRunning(cell)) {
      return 1000;
    }
    return cell === content.activeCell && content.mode === 'edit' ? 3 : 1;
  };
}

function isRunning({ model }: KeptCell): boolean {
  const { executionState } = model as { executionState?: string };
  return executionState === 'running';
}

/**
 * Notes what the reader does; returns a function that, called after the change, restores it.
 *
 * `isRemade` says of which cells, by their index, the change makes new ones; `remainingIds` are those of the cells that
 * remain.
 */
export function keepReader(
  panel: NotebookPanel,
  isRemade: (index: number) => boolean,
  remainingIds: ReadonlySet<string>
): () => void {
  const { content } = panel;
  const { mode } = content;
  const focusedElement = document.activeElement;
  const activeId = content.activeCell?.model.id;
  const cells = content.widgets as readonly KeptCell[];
  const selectedIds = cells
    .filter(cell => content.isSelected(cell))
    .map(({ model }) => model.id);
  const cellViews = cells.map((cell, index) => viewOf(cell, isRemade(index)));
  const restoreScroll = keepScrollPlace(panel, remainingIds);
  const cursorSelections =
    mode === 'edit' ? content.activeCell?.editor?.getSelections() : undefined;
  const hasCursor = content.activeCell?.editor?.hasFocus() === true;
  if (isRemade(content.activeCellIndex)) {
    // In edit mode its neighbour would get the keyboard, and what is typed.
    leaveEditMode(content);
  }
  return () => {
    const cellsById = new Map(
      (content.widgets as readonly KeptCell[]).map(cell => [
        cell.model.id,
        cell
      ])
    );
    const activeCell = cellsById.get(activeId ?? '');
    if (activeCell !== undefined && content.activeCell !== activeCell) {
      content.activeCellIndex = content.widgets.indexOf(activeCell);
    }
    if (activeCell !== undefined && content.mode !== mode) {
      content.mode = mode;
    }
    for (const { id, restore } of cellViews) {
      const cell = cellsById.get(id);
      if (cell !== undefined) {
        restore(cell);
      }
    }
    for (const id of selectedIds) {
      const cell = cellsById.get(id);
      if (cell !== undefined && !content.isSelected(cell)) {
        content.select(cell);
      }
    }
    const editor = activeCell?.editor;
    if (
      cursorSelections !== undefined &&
      activeCell !== undefined &&
      hasCursor
    ) {
      if (focusedElement?.isConnected !== true) {
        // The cell was made again: its editor comes a little later.
        void activeCell.ready.then(() => {
          activeCell.editor?.setSelections(cursorSelections);
          activeCell.editor?.focus();
        });
      } else if (editor?.hasFocus() === false) {
        editor.focus();
      }
    } else if (
      focusedElement instanceof HTMLElement &&
      focusedElement !== document.activeElement &&
      focusedElement.isConnected
    ) {
      focusedElement.focus({ preventScroll: true });
    }
    restoreScroll();
  };
}

/** JupyterLab's notebook has it for its own use. */
interface IModeSetter {
  setMode?: (mode: 'command', options: { focus: boolean }) => void;
}

/** Leaves the edit mode; the keyboard stays in the editor where JupyterLab can do that. */
function leaveEditMode(content: NotebookPanel['content']): void {
  const setter = content as unknown as IModeSetter;
  if (content.mode !== 'edit') {
    return;
  }
  if (setter.setMode === undefined) {
    content.mode = 'command';
  } else {
    setter.setMode('command', { focus: false });
  }
}

/** Notes how a cell is shown; `restore` shows it so again, in another widget if it was made again. */
function viewOf(cell: KeptCell, isRemade: boolean) {
  const { model, rendered, headingCollapsed, outputArea } = cell;
  const future = isRemade ? outputArea?.detachFuture?.() : undefined;
  const { isDirty } = model as { isDirty?: boolean };
  return {
    id: model.id,
    restore: (currentCell: KeptCell) => {
      if (rendered !== undefined && currentCell.rendered !== rendered) {
        currentCell.rendered = rendered;
      }
      if (currentCell === cell) {
        return;
      }
      if (headingCollapsed === true) {
        currentCell.headingCollapsed = true;
      }
      if (isDirty !== undefined) {
        (currentCell.model as { isDirty?: boolean }).isDirty = isDirty;
      }
      if (future !== undefined && future !== null) {
        currentCell.outputArea?.reattachFuture?.(future);
      }
    }
  };
}

/** Notes which cell is at which height; returns a function that scrolls it there again, also in the next frames. */
function keepScrollPlace(
  { content }: NotebookPanel,
  kept: ReadonlySet<string>
): () => void {
  const { outerNode } = content as { outerNode?: HTMLElement };
  const frame = outerNode?.getBoundingClientRect();
  if (outerNode === undefined || frame === undefined || frame.height === 0) {
    return () => undefined;
  }
  const visibleCells = content.widgets.filter(({ node, model }) => {
    const { top, bottom } = node.getBoundingClientRect();
    return (
      kept.has(model.id) &&
      node.isConnected &&
      bottom > frame.top &&
      top < frame.bottom
    );
  });
  const cell =
    visibleCells.find(other => other === content.activeCell) ?? visibleCells[0];
  if (cell === undefined) {
    return () => undefined;
  }
  const { id } = cell.model;
  const topBefore = cell.node.getBoundingClientRect().top;
  const scroll = () => {
    const currentCell = cellOf({ content }, id);
    if (!content.isDisposed && currentCell?.node.isConnected === true) {
      outerNode.scrollTop +=
        currentCell.node.getBoundingClientRect().top - topBefore;
    }
  };
  return () => {
    scroll();
    // New cells get their height when they are drawn.
    requestAnimationFrame(() => {
      scroll();
      requestAnimationFrame(scroll);
    });
  };
}
