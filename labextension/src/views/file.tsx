/**
 * Files that belong to an answer: pictures as pictures, the rest by name.
 */
import type { Attachment, FilePart } from '../protocol/generated';
import { useHost } from './host';

/** Pictures that hold no code. SVG is left out: it may. */
const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;

/** Draws what a tool returned beside its text. */
export function Attachments({ files }: { files: readonly Attachment[] }) {
  return (
    <>
      {files.map((file, index) => (
        <File key={index} file={file} />
      ))}
    </>
  );
}

/** Draws one file; nothing is ever loaded from elsewhere. */
export function File({ file }: { file: Attachment | FilePart }) {
  const { words } = useHost();
  const name = file.filename ?? file.mime;
  if (PICTURE.test(file.url)) {
    return (
      <img
        className="plm-Picture"
        src={file.url}
        alt={words.__('Picture: %1', name)}
      />
    );
  }
  return <span className="plm-Chip">{name}</span>;
}
