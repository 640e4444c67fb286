/** Actions that put code into cells of the session's notebook. */
import { createActionContext } from './actionContext';

export interface ICellActions {
  /** Inserts a code cell below; resolves to the error, or to an empty string. So do the following: */
  insertBelow(code: string): Promise<string>;
  /** Replaces the source of a cell, only if it is the expected one, or the new one already. */
  replace(cellId: string, expected: string, code: string): Promise<string>;
  /** Begins to run a cell. */
  run(cellId: string): Promise<string>;
  /** Puts the keyboard into a cell's editor. */
  focus(cellId: string): Promise<string>;
}

export const { Provider: CellActionsProvider, useIfOffered: useCellActions } =
  createActionContext<ICellActions>('cell actions');
