/** The place that the address of a report names, and the steps by which the browser goes back and forward. */
import { useEffect, useState } from 'react';
import { linkTo, parseLink } from '../state/inspector/placeLink';
import type { IInspectorPlace } from '../state/inspector/source';
import type { IWords } from '../views/host';

/** The session and the place that the page shows. */
interface IShownAddress {
  /** The session's place among those of the page, two of which may have one id. */
  readonly index: number;
  readonly place: IInspectorPlace;
  /** What of the address cannot be shown, in a sentence. */
  readonly remark: string;
  /** Whether the session was opened from the other one of the page. */
  readonly isOpened: boolean;
}

interface IAddressPlace extends IShownAddress {
  /** Writes a session and its place into the address; a step is one of the browser's history, too. */
  readonly setPlace: (
    index: number,
    place: IInspectorPlace,
    isStep: boolean
  ) => void;
}

/**
 * Returns the session and the place of the page's address, which follow the browser's back and forward; without an
 * address, the first of the page's sessions at `opening`.
 */
export function useAddressPlace(
  sessions: readonly string[],
  opening: IInspectorPlace,
  words: IWords
): IAddressPlace {
  const [shownAddress, setShownAddress] = useState(() =>
    addressPlace(sessions, opening, words)
  );
  useEffect(() => {
    const follow = () => {
      setShownAddress(addressPlace(sessions, opening, words));
    };
    window.addEventListener('hashchange', follow);
    // Two sessions with one id may have the same address.
    window.addEventListener('popstate', follow);
    return () => {
      window.removeEventListener('hashchange', follow);
      window.removeEventListener('popstate', follow);
    };
  }, [sessions, opening, words]);
  return {
    ...shownAddress,
    setPlace: (index, place, isStep) => {
      const isOpened = index !== shownAddress.index;
      const address = `#${linkTo(sessions[index] ?? '', place)}`;
      if (isStep || isOpened) {
        history.pushState({ session: index }, '', address);
      } else {
        history.replaceState({ session: index }, '', address);
      }
      setShownAddress({ index, place, remark: '', isOpened });
    }
  };
}

/** Returns what the address names; a place in a session of another file is not opened, and a sentence says so. */
function addressPlace(
  sessions: readonly string[],
  opening: IInspectorPlace,
  words: IWords
): IShownAddress {
  const link = parseLink(location.hash.slice(1));
  const opened = {
    index: 0,
    place: opening,
    remark: '',
    isOpened: false
  };
  if (link === null) {
    return opened;
  }
  const { session, place } = link;
  const storedIndex = keptIndex();
  const index =
    sessions[storedIndex] === session ? storedIndex : sessions.indexOf(session);
  return index >= 0
    ? {
        ...opened,
        index,
        place,
        remark: unknownWords(link.unknownPieces, words)
      }
    : {
        ...opened,
        remark: words.__(
          'The link leads to the session %1, which is not in this file: it holds %2.',
          session,
          sessions.join(', ')
        )
      };
}

/** Returns the place among the page's sessions that a step of the browser's history keeps; -1 where it keeps none. */
function keptIndex(): number {
  const state = history.state as { session?: unknown } | null;
  return typeof state?.session === 'number' ? state.session : -1;
}

/** Returns which pieces of a link say nothing to this version; '' where there are none. */
function unknownWords(unknown: readonly string[], words: IWords): string {
  return unknown.length === 0
    ? ''
    : words.__('The link’s “%1” is not known here.', unknown.join('”, “'));
}
