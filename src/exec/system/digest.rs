//! SHA-256 digests.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

/// Bytes in lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of a file, in hexadecimal.
pub fn digest_file(path: &Path) -> io::Result<String> {
    digest_of(&mut File::open(path)?)
}

/// The SHA-256 of all that is left to read, in hexadecimal.
pub(crate) fn digest_of(from: &mut impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hex(hasher.finalize().as_slice())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_sha_256() {
        // FIPS 180-4, appendix B.1: the message `abc`.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), abc);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(digest_file(&file).unwrap(), abc);
        // Longer than what is read at once.
        let long = vec![7; (1 << 16) + 1];
        std::fs::write(&file, &long).unwrap();
        assert_eq!(digest_file(&file).unwrap(), digest(&long));
        assert!(digest_file(folder.path()).is_err());
    }
}
