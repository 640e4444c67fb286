/**
 * A sign beside each cell whose source the agent wrote: it says where the source came from, and leads there.
 *
 * The signs are elements of the page, so the notebook's file does not hold them.
 */
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { ILink } from '../../kernel/kernelLink';
import type { CellOrigin } from '../../protocol/generated';
import { originDetails } from '../../state/display/originDetails';
import { openedPlace } from '../../state/display/openedPlace';
import type { IInspectorTarget } from '../../views/actions/inspector';
import type { IWords } from '../../views/host';
import { keepButtonKeys } from '../rendering/buttonKeys';
import { CellMarks } from './cellMarks';
import { originOf } from './cellOrigins';

/** Milliseconds in which the kernel sends the messages of a session that is opened. */
const OPENING_MS = 10_000;

/** Where the signs lead. */
interface IOriginPlaces {
  /** Shows the panel, which shows the current session. */
  showPanel: () => void;
  inspect: (target: IInspectorTarget) => void;
  /** Shows a sentence about what went wrong. */
  report: (sentence: string) => void;
}

/** Adds the signs; returns a function that removes them. */
export function addOriginSigns(
  panel: NotebookPanel,
  link: ILink,
  words: IWords,
  places: IOriginPlaces
): () => void {
  const signs = new CellMarks(
    panel,
    ({ model }) => {
      const origin = originOf(model.sharedModel);
      return origin === null ? null : JSON.stringify(origin);
    },
    (cell, origin) =>
      addSign(cell, JSON.parse(origin) as CellOrigin, link, words, places)
  );
  signs.updateSoon();
  return () => {
    signs.dispose();
  };
}

/** A pen and the mark of the agent. */
const DRAWING =
  '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 13.500l.8-3.300L9.600 3.400l2.500 2.500-6.800 6.800zM10.500 2.500l1-1 2.500 2.500-1 1zM13 9.500l.7 1.800 1.800.7-1.800.7-.7 1.800-.7-1.800-1.800-.7 1.800-.7z"/></svg>';

const LENS =
  '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M7 2a5 5 0 1 0 3 9l3.500 3.500 1-1L11 10a5 5 0 0 0-4-8zm0 1.500a3.500 3.500 0 1 1 0 7 3.500 3.500 0 0 1 0-7z"/></svg>';

/** Puts the buttons beside a cell's input, below bars and sketches above it, where JupyterLab's layout does not count them. */
function addSign(
  cell: Cell,
  origin: CellOrigin,
  link: ILink,
  words: IWords,
  places: IOriginPlaces
): () => void {
  const node = document.createElement('div');
  node.className = 'plm-CellOrigin';
  node.setAttribute('role', 'group');
  node.setAttribute('aria-label', words.__('Where this cell came from'));
  const button = (drawing: string, name: string, act: () => void) => {
    const element = document.createElement('button');
    element.type = 'button';
    element.className = `plm-CellOrigin-${name}`;
    element.innerHTML = drawing;
    element.addEventListener('click', act);
    node.append(element);
    return element;
  };
  const sign = button(DRAWING, 'turn', () => {
    void showTurn(origin, cell.model.id, link, words, places);
  });
  const lens = button(LENS, 'request', () => {
    const { session, message } = origin;
    places.inspect({ session, request: message });
  });
  // Asked anew each time: the session may load later, and a person may review the change.
  const describe = () => {
    node.classList.toggle('plm-mod-top', isNearTop(node));
    // The style shows the labels under the pointer and with the keyboard, which a title would not do.
    const sentence = originSentence(origin, cell.model.id, link, words);
    sign.setAttribute('aria-label', sentence);
    lens.setAttribute(
      'aria-label',
      origin.request === undefined
        ? words.__('Inspect the request that wrote this cell')
        : words.__('Inspect request %1, which wrote this cell', origin.request)
    );
  };
  describe();
  node.addEventListener('pointerenter', describe);
  node.addEventListener('focusin', describe);
  const leaveKeys = keepButtonKeys(node);
  let isRemoved = false;
  const place = () => {
    if (!isRemoved) {
      cell.node.querySelector(':scope > .jp-Cell-inputWrapper')?.append(node);
    }
  };
  if (cell.isPlaceholder()) {
    // A cell that was never in view has no input yet.
    void cell.ready.then(place);
  } else {
    place();
  }
  return () => {
    isRemoved = true;
    leaveKeys();
    node.remove();
  };
}

/** Pixels above a sign that what it says takes. */
const SENTENCE_HEIGHT = 64;

/** Returns whether there is no place above a sign for what it says. */
function isNearTop(node: HTMLElement): boolean {
  const outer = node.closest('.jp-WindowedPanel-outer');
  return (
    outer !== null &&
    node.getBoundingClientRect().top - outer.getBoundingClientRect().top <
      SENTENCE_HEIGHT
  );
}

/** Returns what is known of an origin: the turn, the request, the approval. */
function originSentence(
  origin: CellOrigin,
  cell: string,
  link: ILink,
  words: IWords
): string {
  const { promptBeginning: prompt, reviewer } = originDetails(
    link.store.getSnapshot(),
    origin,
    cell
  );
  const { request } = origin;
  const number = request ?? '?';
  const written =
    prompt === ''
      ? request === undefined
        ? words.__('Written by the agent in a session that is not loaded.')
        : words.__(
            'Written by the agent, in request %1 of a session that is not loaded.',
            number
          )
      : request === undefined
        ? words.__('Written by the agent in the turn “%1”.', prompt)
        : words.__(
            'Written by the agent in the turn “%1”, request %2.',
            prompt,
            number
          );
  return [
    written,
    ...(reviewer === 'person' ? [words.__('Approved by you.')] : []),
    ...(reviewer === 'setting' ? [words.__('Allowed by a setting.')] : []),
    ...(reviewer === 'nobody' ? [words.__('Not reviewed yet.')] : [])
  ].join(' ');
}

/** Shows the turn in the panel; a session that is not the current one is opened. */
async function showTurn(
  origin: CellOrigin,
  cell: string,
  link: ILink,
  words: IWords,
  { showPanel, report }: IOriginPlaces
): Promise<void> {
  const { session } = origin;
  if (link.store.getSnapshot().current !== session) {
    const { error } = await link.outcome('open', { session });
    if (error !== undefined) {
      report(error);
      return;
    }
  }
  showPanel();
  const turn = await turnOnceLoaded(link, origin, cell);
  if (turn === null) {
    report(words.__('The turn is no longer in the session.'));
  } else {
    openedPlace.set({ turnKey: turn, lineKey: turn, isScrolledTo: true });
  }
}

/** Resolves to the key of a turn as soon as its session's messages are here; to null where it has no such turn. */
function turnOnceLoaded(
  link: ILink,
  origin: CellOrigin,
  cell: string
): Promise<string | null> {
  return new Promise(resolve => {
    const look = () => {
      const view = link.store.getSnapshot();
      const { turnKey: turn } = originDetails(view, origin, cell);
      if (
        turn !== null ||
        view.sessions.get(origin.session)?.isLoaded === true
      ) {
        end(turn);
      }
    };
    const end = (turn: string | null) => {
      clearTimeout(timer);
      unsubscribe();
      resolve(turn);
    };
    const timer = setTimeout(end, OPENING_MS, null);
    const unsubscribe = link.store.subscribe(look);
    look();
  });
}
