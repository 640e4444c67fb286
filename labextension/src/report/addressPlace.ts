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
  /** A sentence on what the address names and the page cannot show. */
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
  openingPlace: IInspectorPlace,
  words: IWords
): IAddressPlace {
  const [shownAddress, setShownAddress] = useState(() =>
    addressPlace(sessions, openingPlace, words)
  );
  useEffect(() => {
    const updateAddress = () => {
      setShownAddress(addressPlace(sessions, openingPlace, words));
    };
    window.addEventListener('hashchange', updateAddress);
    // Two sessions with one id may have the same address.
    window.addEventListener('popstate', updateAddress);
    return () => {
      window.removeEventListener('hashchange', updateAddress);
      window.removeEventListener('popstate', updateAddress);
    };
  }, [sessions, openingPlace, words]);
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
  openingPlace: IInspectorPlace,
  words: IWords
): IShownAddress {
  const link = parseLink(location.hash.slice(1));
  const openingAddress = {
    index: 0,
    place: openingPlace,
    remark: '',
    isOpened: false
  };
  if (link === null) {
    return openingAddress;
  }
  const { session, place } = link;
  const sessionIndex = historyIndex();
  const index =
    sessions[sessionIndex] === session
      ? sessionIndex
      : sessions.indexOf(session);
  return index >= 0
    ? {
        ...openingAddress,
        index,
        place,
        remark: unknownPiecesSentence(link.unknownPieces, words)
      }
    : {
        ...openingAddress,
        remark: words.__(
          'The link leads to the session %1, which is not in this file: it holds %2.',
          session,
          sessions.join(', ')
        )
      };
}

/** Returns the place among the page's sessions that a step of the browser's history keeps; -1 where it keeps none. */
function historyIndex(): number {
  const state = history.state as { session?: unknown } | null;
  return typeof state?.session === 'number' ? state.session : -1;
}

/** Returns a sentence with the pieces of a link that this version does not know; '' where there are none. */
function unknownPiecesSentence(
  unknownPieces: readonly string[],
  words: IWords
): string {
  return unknownPieces.length === 0
    ? ''
    : words.__(
        'The link’s “%1” is not known here.',
        unknownPieces.join('”, “')
      );
}
