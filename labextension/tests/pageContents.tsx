/** Reads what a page shows of a session from its elements, and what its log should show. */
import { act, fireEvent, render } from '@testing-library/react';
import { useSyncExternalStore } from 'react';
import type { Attachment, FilePart } from '../src/protocol/generated';
import {
  EMPTY_TRANSCRIPT,
  type ITranscript
} from '../src/state/store/transcript';
import { messagesOf } from './builders';
import { Transcript } from '../src/views/transcript/transcript';
import { HostProvider } from '../src/views/host';
import { HOST } from './plainHost';
import type { Page } from './simulatedPages';

/** Draws a page, again after each notice; returns its container. */
export function draw(page: Page): HTMLElement {
  page.change = run => {
    act(run);
  };
  const { container } = render(<Drawn page={page} />);
  return container;
}

function Drawn({ page }: { page: Page }) {
  useSyncExternalStore(
    changed => page.store.subscribe(changed),
    () => page.store.getSnapshot()
  );
  return (
    <HostProvider value={HOST}>
      <Transcript
        transcript={page.transcript ?? EMPTY_TRANSCRIPT}
        readOnly={false}
        emptyContent={null}
      />
    </HostProvider>
  );
}

const DRAWN =
  '.plm-TurnPrompt-text, .plm-Text, .plm-Tool-name, .plm-Tool-input, ' +
  '.plm-Tool-output pre, .plm-Picture, .plm-Chip';

/** Returns texts, calls with input and output, images and files, as they are in a page. */
export function drawn(place: HTMLElement): string[] {
  for (const fold of [
    '.plm-TurnPrompt-attached',
    '.plm-Work > *',
    '.plm-Tool > *'
  ]) {
    place.querySelectorAll(`${fold}[aria-expanded="false"]`).forEach(head => {
      fireEvent.click(head);
    });
  }
  return [...place.querySelectorAll(DRAWN)].map(element =>
    element instanceof HTMLImageElement
      ? `${element.alt} ${element.getAttribute('src') ?? ''}`
      : element.textContent.trim()
  );
}

/** Returns what a transcript should show, in the order of the page. */
export function said(transcript: ITranscript): string[] {
  return messagesOf(transcript).flatMap(({ info, parts }) => {
    // Attached files are below the prompt's text, which is the first item of a turn.
    const isText = (part: (typeof parts)[number]) => part.type === 'text';
    const told = [
      ...parts.filter(isText),
      ...parts.filter(part => !isText(part))
    ];
    return (info.role === 'user' ? told : parts).flatMap(part => {
      switch (part.type) {
        case 'text':
          return [part.text.trim()];
        case 'file':
          return [file(part)];
        case 'tool': {
          const { state, tool } = part;
          if (state.status !== 'completed') {
            throw new Error(`What ${tool} shows while it runs is not told.`);
          }
          // Figures are below the card, other attachments inside it.
          const isFigure = ({ mime }: Attachment) => mime.startsWith('image/');
          return [
            tool,
            String(state.input.code),
            state.output.trim(),
            ...state.attachments.filter(file => !isFigure(file)).map(file),
            ...state.attachments.filter(isFigure).map(file)
          ];
        }
        default:
          throw new Error(`What a ${part.type} shows is not told.`);
      }
    });
  });
}

function file({ filename = '', mime, url }: Attachment | FilePart): string {
  return url.startsWith('data:image/')
    ? `Picture: ${filename} ${url}`
    : `${filename} (${mime})`;
}
