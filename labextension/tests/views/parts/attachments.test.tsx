// @vitest-environment jsdom
/** An image stored as a blob is shown once the kernel has sent it; other files by name. */
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Attachment } from '../../../src/protocol/generated';
import { PictureLoaderProvider } from '../../../src/views/actions/pictures';
import { AttachmentView } from '../../../src/views/parts/attachments';
import { HostProvider } from '../../../src/views/host';
import { ToolCall } from '../../../src/views/parts/toolCall';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

const KEPT = `blob:${'a'.repeat(64)}`;
const SHOWN = 'data:image/png;base64,iVBORw0K';

function draw(file: Partial<Attachment>, answer: string) {
  const picture = vi.fn<(url: string) => Promise<string>>(() =>
    Promise.resolve(answer)
  );
  render(
    <HostProvider value={HOST}>
      <PictureLoaderProvider value={{ load: picture }}>
        <AttachmentView
          file={{
            mime: 'image/png',
            url: KEPT,
            filename: 'plot.png',
            ...file
          }}
        />
      </PictureLoaderProvider>
    </HostProvider>
  );
  return picture;
}

describe('a file', () => {
  it('is asked for and shown where the log keeps a picture', async () => {
    const picture = draw({}, SHOWN);
    screen.getByText('plot.png');

    const image = await screen.findByRole('img');
    expect(image.getAttribute('src')).toBe(SHOWN);
    expect(picture.mock.calls).toEqual([[KEPT]]);
  });

  it.each([
    ['data:image/svg+xml;base64,PHN2Zz4='],
    ['https://example.org/a.png'],
    ['']
  ])('stays a name when %j is told', async answer => {
    draw({}, answer);
    await Promise.resolve();
    await Promise.resolve();

    screen.getByText('plot.png');
    expect(screen.queryByRole('img')).toBeNull();
  });

  it.each([
    { mime: 'application/pdf' },
    { url: 'blob:https://example.org/1' },
    { url: 'https://example.org/a.png' }
  ])('is not asked for when it is %j', file => {
    expect(draw(file, SHOWN)).not.toHaveBeenCalled();
  });
});

describe('a figure of a call', () => {
  const made = (name: string) =>
    build.tool(name, {
      status: 'completed',
      input: { code: 'plot()' },
      output: 'Done.',
      title: '',
      metadata: {},
      time: { start: 0, end: 1 },
      attachments: [
        { mime: 'image/png', url: SHOWN, filename: 'plot.png' },
        { mime: 'application/pdf', url: 'data:,x', filename: 'plot.pdf' }
      ]
    });

  it('stands in the panel below its closed card, where no cell shows it', () => {
    const { rerender } = render(
      <HostProvider value={HOST}>
        <ToolCall part={made('python')} isOver isNewest={false} showsFigures />
      </HostProvider>
    );
    expect(screen.getAllByRole('img')).toHaveLength(1);
    expect(screen.queryByText('plot.pdf')).toBeNull();

    fireEvent.click(screen.getByRole('button'));
    expect(screen.getAllByRole('img')).toHaveLength(1);
    expect(screen.getByText('plot.pdf')).not.toBeNull();

    rerender(
      <HostProvider value={HOST}>
        <ToolCall
          key="read"
          part={made('read')}
          isOver
          isNewest={false}
          showsFigures
        />
      </HostProvider>
    );
    expect(screen.queryByRole('img')).toBeNull();
  });

  it('stays in its card where a cell shows it', () => {
    render(
      <HostProvider value={HOST}>
        <ToolCall part={made('python')} isOver isNewest={false} />
      </HostProvider>
    );
    expect(screen.queryByRole('img')).toBeNull();
  });
});
