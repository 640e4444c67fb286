/**
 * Keeps a place that scrolls at its end while something is printed in it.
 */
import { useEffect, useRef, type RefObject } from 'react';

/** So near to the end, in pixels, a person is taken to look at the newest line. */
const NEAR = 16;

/** Follows what grows in a place, until a person scrolls up in it. */
export function useTailScroll(live: boolean): RefObject<HTMLElement> {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    const node = place.current;
    if (node === null || !live) {
      return;
    }
    let sticks = true;
    let moved = 0;
    const onScroll = () => {
      const left = node.scrollHeight - node.scrollTop - node.clientHeight;
      // Where it grew since it was moved here, no person scrolled.
      if (left <= NEAR || node.scrollTop !== moved) {
        sticks = left <= NEAR;
      }
    };
    const follow = () => {
      if (sticks) {
        node.scrollTop = node.scrollHeight;
        moved = node.scrollTop;
      }
    };
    // Printed text is drawn a moment after it was told.
    const grows = new MutationObserver(follow);
    grows.observe(node, {
      childList: true,
      subtree: true,
      characterData: true
    });
    node.addEventListener('scroll', onScroll, { passive: true });
    follow();
    return () => {
      grows.disconnect();
      node.removeEventListener('scroll', onScroll);
    };
  }, [live]);
  return place;
}
