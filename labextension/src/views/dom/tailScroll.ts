/** Keeps a scroll container at its end while output is printed in it. */
import { useEffect, useRef, type RefObject } from 'react';

/** Within this distance from the end, in pixels, the user is assumed to look at the newest line. */
const NEAR_PX = 16;

/** Returns the reference of a container that stays at the end of growing output, until the user scrolls up. */
export function useTailScroll(isLive: boolean): RefObject<HTMLElement> {
  const elementRef = useRef<HTMLElement>(null);
  useEffect(() => {
    const node = elementRef.current;
    if (node === null || !isLive) {
      return;
    }
    let staysAtEnd = true;
    let ownScrollTop = 0;
    const onScroll = () => {
      const distance = node.scrollHeight - node.scrollTop - node.clientHeight;
      // A different position means that the user scrolled, not this hook.
      if (distance <= NEAR_PX || node.scrollTop !== ownScrollTop) {
        staysAtEnd = distance <= NEAR_PX;
      }
    };
    const follow = () => {
      if (staysAtEnd) {
        node.scrollTop = node.scrollHeight;
        ownScrollTop = node.scrollTop;
      }
    };
    // Printed text is drawn a moment after its update.
    const observer = new MutationObserver(follow);
    observer.observe(node, {
      childList: true,
      subtree: true,
      characterData: true
    });
    node.addEventListener('scroll', onScroll, { passive: true });
    follow();
    return () => {
      observer.disconnect();
      node.removeEventListener('scroll', onScroll);
    };
  }, [isLive]);
  return elementRef;
}
