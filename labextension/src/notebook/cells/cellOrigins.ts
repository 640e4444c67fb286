/** Where the source of a cell came from, in the cell's metadata. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { CellOrigin } from '../../protocol/generated';
import { isObject } from '../../protocol/jsonValues';
import { beginJoinedUndoStep } from './undoSteps';

/** The key in a cell's metadata. */
export const ORIGIN_KEY = 'palimpsest';

/** A cell of the shared model. */
type SharedNotebook = NotebookPanel['context']['model']['sharedModel'];
export type SharedCell = SharedNotebook['cells'][number];

/** Returns where a cell's source came from; null for a cell that a person wrote, and for metadata of another form. */
export function originOf(cell: SharedCell): CellOrigin | null {
  const value: unknown = cell.getMetadata(ORIGIN_KEY);
  if (!isObject(value)) {
    return null;
  }
  const { session, message, call, request } = value;
  return typeof session === 'string' &&
    typeof message === 'string' &&
    typeof call === 'string'
    ? {
        session,
        message,
        call,
        request: typeof request === 'number' ? request : undefined
      }
    : null;
}

/** Returns the metadata that name an origin; empty for none. */
export function originMetadata(
  origin: CellOrigin | undefined
): Record<string, Record<string, string | number>> {
  if (origin === undefined) {
    return {};
  }
  const { session, message, call, request } = origin;
  const originFields = { session, message, call };
  return {
    [ORIGIN_KEY]:
      request === undefined ? originFields : { ...originFields, request }
  };
}

/** Returns metadata of a cell with another origin, or with none. */
export function withOrigin(
  metadata: Readonly<Record<string, unknown>>,
  origin: CellOrigin | undefined
): Record<string, unknown> {
  const otherEntries = Object.entries(metadata).filter(
    ([key]) => key !== ORIGIN_KEY
  );
  return { ...Object.fromEntries(otherEntries), ...originMetadata(origin) };
}

/** Writes where a cell's present source came from, or that a person's source is there again. */
export function writeOrigin(
  cell: SharedCell,
  origin: CellOrigin | undefined
): void {
  const value = originMetadata(origin)[ORIGIN_KEY];
  if (value === undefined) {
    cell.deleteMetadata(ORIGIN_KEY);
  } else {
    cell.setMetadata(ORIGIN_KEY, value);
  }
}

/** Removes where the cells came from, such as before the notebook is passed on; one step of undo brings it back. */
export function dropOrigins(notebook: SharedNotebook): void {
  const endStep = beginJoinedUndoStep(notebook, []);
  notebook.transact(() => {
    for (const cell of notebook.cells) {
      cell.deleteMetadata(ORIGIN_KEY);
    }
  });
  endStep();
}

/** The notebooks that the agent changes at this moment. */
const notebooksInAgentChange = new WeakSet<object>();

/** Changes cells of a notebook in the agent's name: their origins stay. */
export function changeAsAgent(
  notebook: SharedNotebook,
  change: () => void
): void {
  notebooksInAgentChange.add(notebook);
  try {
    change();
  } finally {
    notebooksInAgentChange.delete(notebook);
  }
}

interface IDeepEvent {
  target: unknown;
  keys: ReadonlyMap<string, unknown>;
}

type DeepObserver = (
  events: readonly IDeepEvent[],
  transaction: { local: boolean }
) => void;

/** What the shared model's own interface leaves out. */
interface IObservedCell {
  ymodel?: {
    get: (key: string) => unknown;
    observeDeep: (observer: DeepObserver) => void;
    unobserveDeep: (observer: DeepObserver) => void;
  };
}

/**
 * Removes the origin of each cell whose source a person of this page changes; returns a function that ends this.
 *
 * One step of undo takes both back.
 */
export function dropRewrittenOrigins(panel: NotebookPanel): () => void {
  const notebook = panel.context.model.sharedModel;
  const stopObserving = new Map<SharedCell, () => void>();
  const observe = (cell: SharedCell): (() => void) => {
    const { ymodel } = cell as SharedCell & IObservedCell;
    const observer: DeepObserver = (events, { local }) => {
      const source = ymodel?.get('source');
      if (
        local &&
        !notebooksInAgentChange.has(notebook) &&
        events.some(({ target }) => target === source) &&
        !events.some(({ keys }) => keys.has(ORIGIN_KEY)) &&
        originOf(cell) !== null
      ) {
        cell.transact(() => {
          cell.deleteMetadata(ORIGIN_KEY);
        });
      }
    };
    ymodel?.observeDeep(observer);
    return () => {
      ymodel?.unobserveDeep(observer);
    };
  };
  const updateObservers = () => {
    const cells = new Set(notebook.cells);
    for (const cell of cells) {
      if (!stopObserving.has(cell)) {
        stopObserving.set(cell, observe(cell));
      }
    }
    for (const [cell, end] of stopObserving) {
      if (!cells.has(cell)) {
        end();
        stopObserving.delete(cell);
      }
    }
  };
  notebook.changed.connect(updateObservers);
  updateObservers();
  return () => {
    notebook.changed.disconnect(updateObservers);
    stopObserving.forEach(end => {
      end();
    });
  };
}
