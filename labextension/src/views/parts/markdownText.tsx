/**
 * The model's Markdown, drawn block by block: closed blocks are drawn once.
 */
import { memo, useState } from 'react';
import {
  blocks,
  NO_BLOCKS,
  type IBlocks
} from '../../state/display/markdownBlocks';
import {
  withoutOpenSurrogate,
  withoutLoneSurrogates
} from '../../protocol/surrogatePairs';
import { mayBePython, wholeListing } from '../../state/display/codeListing';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';
import { CodeActions } from './codeActions';

interface IMarkdownTextProps {
  text: string;
  live: boolean;
  /** The id of the answer's part that it is; then there are buttons below its listings. */
  part?: string;
}

/** Draws Markdown that may still grow. */
export function MarkdownText({ text, live, part }: IMarkdownTextProps) {
  // A high surrogate at the end waits for its other half while the text grows.
  const { closed, open } = useBlocks(
    withoutLoneSurrogates(live ? withoutOpenSurrogate(text) : text)
  );
  const all = open.trim() === '' ? closed : [...closed, open];
  return (
    <div className="plm-Text" data-live={live} data-line={part}>
      {joined(all).map(({ first, pieces, continues }) => (
        <div
          key={first}
          className="plm-Block"
          dir="auto"
          data-joined={pieces.length > 1}
          data-continues={continues}
        >
          {pieces.map((piece, index) => (
            <Block
              key={index}
              text={piece}
              live={live && first + index >= closed.length}
              part={part}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

/** Groups the pieces of one paragraph, with the number of the first. */
function joined(all: readonly string[]): IGroup[] {
  const groups: IGroup[] = [];
  let length = 0;
  all.forEach((piece, index) => {
    const last = groups.at(-1);
    const continues =
      last !== undefined && all[index - 1]?.endsWith('\n') === false;
    if (continues && length < GROUP_CHARS) {
      last.pieces.push(piece);
      length += piece.length;
    } else {
      groups.push({ first: index, pieces: [piece], continues });
      length = piece.length;
    }
  });
  return groups;
}

interface IGroup {
  /** The number of the first piece. */
  first: number;
  pieces: string[];
  /** Whether it begins in the middle of a paragraph. */
  continues: boolean;
}

/** A growing paragraph is laid out as a whole, so a huge one is split into several. */
const GROUP_CHARS = 5_000;

interface IBlockProps {
  text: string;
  /** Whether it may still grow. */
  live: boolean;
  part: string | undefined;
}

/** Draws a block: the open one becomes a closed one without being drawn anew. */
const Block = memo(function Block({ text, live, part }: IBlockProps) {
  const { Code, Markdown } = useHost();
  const shown = text.replace(/\n+$/, '');
  const code = live && shown.length > LONG_CODE ? unfinishedCode(shown) : null;
  if (code !== null) {
    return <pre className="plm-Listing">{code}</pre>;
  }
  const listing = wholeListing(shown);
  if (listing !== null) {
    return (
      <>
        <Code text={listing.code} language={listing.language} />
        {!live && part !== undefined && mayBePython(listing) && (
          <CodeActions code={listing.code} part={part} />
        )}
      </>
    );
  }
  if (shown.startsWith(REHEARSES)) {
    return (
      <Disclosure
        className="plm-ModelNotice"
        head={
          <span className="plm-Work-words" title={plain(shown)}>
            {plain(shown)}
          </span>
        }
      >
        <Markdown text={shown} />
      </Disclosure>
    );
  }
  return shown.trim() === '' ? null : <Markdown text={shown} />;
});

/** How the rehearsal model begins its first answer; drawn as one line, which opens to the whole. */
const REHEARSES = '*No language model is configured, ';

/** Returns a paragraph without its signs of emphasis and code. */
function plain(text: string): string {
  return text.trim().replaceAll(/^\*|\*$|`/g, '');
}

/** A longer listing is coloured only when it is complete. */
const LONG_CODE = 1_000;

/** Returns the code of a fence that is still open; otherwise null. */
function unfinishedCode(text: string): string | null {
  const fence = /^\s*(?:`{3,}|~{3,})[^\n]*\n/.exec(text);
  return fence === null ? null : text.slice(fence[0].length);
}

function useBlocks(text: string): IBlocks {
  const [known, setKnown] = useState(NO_BLOCKS);
  const now = blocks(text, known);
  if (now !== known) {
    setKnown(now);
  }
  return now;
}
