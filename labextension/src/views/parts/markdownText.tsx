/**
 * The model's Markdown, drawn block by block: closed blocks are drawn once.
 */
import { memo, useState } from 'react';
import {
  markdownBlocks,
  NO_BLOCKS,
  type IMarkdownBlocks
} from '../../state/text/markdownBlocks';
import {
  withoutOpenSurrogate,
  withoutLoneSurrogates
} from '../../protocol/surrogatePairs';
import {
  listingsInside,
  mayBePython,
  splitAtListings,
  wholeListing
} from '../../state/text/codeListing';
import { tableIn } from '../../state/text/markdownTable';
import { Copyable } from '../controls/buttons';
import { Disclosure } from '../controls/disclosure';
import { useHost, type IWords } from '../host';
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
  const { closedBlocks: closed, openBlock: open } = useBlocks(
    withoutLoneSurrogates(live ? withoutOpenSurrogate(text) : text)
  );
  const all = open.trim() === '' ? closed : [...closed, open];
  return (
    <div className="plm-Text" data-live={live} data-line={part}>
      {paragraphGroups(all).map(({ first, pieces, continues }) => (
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
function paragraphGroups(all: readonly string[]): IGroup[] {
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
  const trimmed = text.replace(/\n+$/, '');
  const code =
    live && trimmed.length > LONG_CODE_CHARS ? unfinishedCode(trimmed) : null;
  if (code !== null) {
    return <pre className="plm-Listing">{code}</pre>;
  }
  const pieces = live ? [trimmed] : splitAtListings(trimmed);
  return pieces.map((piece, index) => (
    <CopyableBlock key={index} text={piece} live={live} part={part} />
  ));
});

/** Draws a listing or other Markdown; what is written to its end has buttons that copy its code and its table. */
function CopyableBlock({ text, live, part }: IBlockProps) {
  const { Code, Markdown, words } = useHost();
  const listing = wholeListing(text);
  if (listing !== null) {
    const code = <Code text={listing.code} language={listing.language} />;
    return !live && part !== undefined && mayBePython(listing) ? (
      <>
        {code}
        <CodeActions code={listing.code} part={part} />
      </>
    ) : (
      <Copyable copies={live ? [] : codeCopies([listing.code], words)}>
        {code}
      </Copyable>
    );
  }
  if (text.startsWith(REHEARSES)) {
    return (
      <Disclosure
        className="plm-ModelNotice"
        head={
          <span className="plm-Work-words" title={plainParagraph(text)}>
            {plainParagraph(text)}
          </span>
        }
      >
        <Markdown text={text} />
      </Disclosure>
    );
  }
  return text.trim() === '' ? null : (
    <Copyable
      copies={
        live
          ? []
          : [
              ...codeCopies(listingsInside(text), words),
              ...tableCopies(text, words)
            ]
      }
    >
      <Markdown text={text} />
    </Copyable>
  );
}

/** How the rehearsal model begins its first answer; drawn as one line, which opens to the whole. */
const REHEARSES = '*No language model is configured, ';

/** Returns a paragraph without its signs of emphasis and code. */
function plainParagraph(text: string): string {
  return text.trim().replaceAll(/^\*|\*$|`/g, '');
}

function codeCopies(codes: readonly string[], words: IWords) {
  return codes.map((code, index) => ({
    label: codes.length > 1 ? words.__('Copy %1', index + 1) : words.__('Copy'),
    name:
      codes.length > 1
        ? words.__('Copy %1: code', index + 1)
        : words.__('Copy the code'),
    title: words.__('Copies this code to the clipboard'),
    text: () => code
  }));
}

function tableCopies(text: string, words: IWords) {
  const table = tableIn(text);
  return table === null
    ? []
    : [
        {
          label: words.__('Copy as TSV'),
          title: words.__(
            'Copies the table as tab-separated values, for a spreadsheet'
          ),
          text: () => table.tsv
        },
        {
          label: words.__('Copy as Markdown'),
          title: words.__('Copies the table as it was written'),
          text: () => table.markdown
        }
      ];
}

/** A longer listing is coloured only when it is complete. */
const LONG_CODE_CHARS = 1_000;

/** Returns the code of a fence that is still open; otherwise null. */
function unfinishedCode(text: string): string | null {
  const fence = /^\s*(?:`{3,}|~{3,})[^\n]*\n/.exec(text);
  return fence === null ? null : text.slice(fence[0].length);
}

function useBlocks(text: string): IMarkdownBlocks {
  const [known, setKnown] = useState(NO_BLOCKS);
  const now = markdownBlocks(text, known);
  if (now !== known) {
    setKnown(now);
  }
  return now;
}
