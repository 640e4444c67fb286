/**
 * Words of the model, drawn block by block: what is closed is drawn once.
 */
import { memo, useEffect, useRef, useState } from 'react';
import { blocks, NO_BLOCKS, type IBlocks } from '../state/blocks';
import { useHost } from './host';

/** The open block is drawn again at most this often; a long one less often. */
const REDRAW_MS = 80;
const REDRAW_MS_PER_KB = 40;

/** Draws Markdown that may still grow. */
export function Text({ text, live }: { text: string; live: boolean }) {
  const { closed, open } = useBlocks(text);
  return (
    <div className="plm-Text" data-live={live}>
      {closed.map((block, index) => (
        <Block key={index} text={block} />
      ))}
      {open.trim() !== '' && (
        <Open key={closed.length} text={open} live={live} />
      )}
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  const { Markdown } = useHost();
  return text.trim() === '' ? null : <Markdown text={text} />;
});

function Open({ text, live }: { text: string; live: boolean }) {
  const shown = usePaced(text, live);
  return <Block text={shown} />;
}

function useBlocks(text: string): IBlocks {
  const [known, setKnown] = useState(NO_BLOCKS);
  const now = blocks(text, known);
  if (now !== known) {
    setKnown(now);
  }
  return now;
}

/** Follows a value, but not faster than its length allows; the last one always arrives. */
function usePaced(text: string, live: boolean): string {
  const [shown, setShown] = useState(text);
  const newest = useRef(text);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    newest.current = text;
    if (timer.current === null && text !== shown) {
      const pause = REDRAW_MS + (REDRAW_MS_PER_KB * text.length) / 1000;
      timer.current = setTimeout(() => {
        timer.current = null;
        setShown(newest.current);
      }, pause);
    }
  }, [text, shown]);
  useEffect(
    () => () => {
      if (timer.current !== null) {
        clearTimeout(timer.current);
        timer.current = null;
      }
    },
    []
  );
  return live ? shown : text;
}
