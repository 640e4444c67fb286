/**
 * Settings of the build beside those of JupyterLab's builder: it would keep the comments and spaces of
 * style sheets, write the scripts for older browsers, and reach React's functions through their module.
 */
const path = require('node:path');
const { rspack } = require('@rspack/core');

const MINIFIED_STYLES = {
  test: /\.css$/,
  enforce: 'pre',
  loader: 'builtin:lightningcss-loader',
  options: { minify: true, targets: 'chrome 100, firefox 100, safari 15.4' }
};

module.exports = {
  module: { rules: [MINIFIED_STYLES] },
  resolve: {
    alias: {
      'react/jsx-runtime$': path.join(__dirname, 'scripts', 'jsxRuntime.mjs'),
      'jsx-runtime-of-react$': require.resolve('react/jsx-runtime')
    }
  },
  optimization: {
    minimizer: [
      new rspack.SwcJsMinimizerRspackPlugin({
        minimizerOptions: {
          ecma: 2022,
          compress: { passes: 3, ecma: 2022 },
          // The licences are in a file of their own.
          format: { comments: false, ascii_only: false, ecma: 2022 }
        }
      })
    ]
  }
};
