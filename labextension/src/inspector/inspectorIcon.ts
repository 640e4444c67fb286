/** The inspector's icon: the layers of a window over its requests. */
import { LabIcon } from '@jupyterlab/ui-components';

const DRAWING = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M3 4h1.600v14.400H21V20H3z"/>
    <path d="M6 17v-4l5-2.500 4 1.500 6-3v8z"/>
    <path d="M6 11.400V9.600L11 6l4 2 6-4v3.200l-6 3.200-4-1.600z" opacity=".6"/>
  </g>
</svg>`;

export const inspectorIcon = new LabIcon({
  name: 'jupyter-palimpsest:inspector',
  svgstr: DRAWING
});
