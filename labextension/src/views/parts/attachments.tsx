/** Files in an answer: images are drawn, others listed by name. */
import { useEffect, useState } from 'react';
import type { Attachment, FilePart } from '../../protocol/generated';
import { usePictureLoader } from '../actions/pictures';
import { unlessGone } from '../dom/effects';
import { useHost } from '../host';

/** Matches images that cannot contain code, which excludes SVG. */
const PICTURE_URL =
  /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;

/** Matches a large image that is stored as a blob; the kernel sends a smaller version. */
const BLOB_URL = /^blob:[0-9a-f]{64}$/;

/** Draws the files of a tool's output. */
export function Attachments({ files }: { files: readonly Attachment[] }) {
  return (
    <>
      {files.map((file, index) => (
        <AttachmentView key={index} file={file} />
      ))}
    </>
  );
}

/** Draws a small button for each figure that a cell shows. */
export function Thumbnails(props: {
  files: readonly Attachment[];
  onChoose: () => void;
}) {
  const { files, onChoose } = props;
  const { words } = useHost();
  return files.length === 0 ? null : (
    <span className="plm-Thumbnails">
      {files.map((file, index) => (
        <button
          key={index}
          type="button"
          className="plm-Thumbnail"
          title={words.__('Show the figure in its cell')}
          onClick={onChoose}
        >
          <span className="plm-Hidden">
            {words.__('Show the figure in its cell')}
          </span>
          <AttachmentView file={file} />
        </button>
      ))}
    </span>
  );
}

/** Draws one file; nothing is loaded from other servers. */
export function AttachmentView({ file }: { file: Attachment | FilePart }) {
  const { words } = useHost();
  const name = file.filename ?? file.mime;
  const url = useLoadedUrl(file);
  if (PICTURE_URL.test(url)) {
    return (
      <img
        className="plm-Picture"
        src={url}
        alt={words.__('Picture: %1', name)}
      />
    );
  }
  return (
    <span className="plm-Chip">
      {name}
      {name !== file.mime && (
        <span className="plm-Chip-kind"> ({file.mime})</span>
      )}
    </span>
  );
}

/** Returns a file's URL; for a blob, once the kernel has sent it. */
function useLoadedUrl({ mime, url }: Attachment | FilePart): string {
  const loader = usePictureLoader();
  const [loadedImage, setLoadedImage] = useState({ blobUrl: '', imageUrl: '' });
  const isBlob = mime.startsWith('image/') && BLOB_URL.test(url);
  useEffect(
    () =>
      isBlob && loader !== null
        ? unlessGone(loader.load(url), imageUrl => {
            setLoadedImage({ blobUrl: url, imageUrl });
          })
        : undefined,
    [isBlob, loader, url]
  );
  return isBlob && loadedImage.blobUrl === url ? loadedImage.imageUrl : url;
}
